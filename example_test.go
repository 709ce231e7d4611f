package rota_test

import (
	"context"
	"fmt"
	"time"

	"github.com/rota-run/rota"
	"github.com/rota-run/rota/store/memory"
)

// A program joins a cluster, brings a task type, and submits a task. The task runs once, on one of the members.
func Example() {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	fmt.Println(hello(ctx))
	// Output:
	// hello, world, from web-1
	// <nil>
}

// hello is the example in README.md.
func hello(ctx context.Context) error {
	greet := rota.NewType("greet", func(_ context.Context, g *rota.Grant, to struct{ Name string }) error {
		_, err := fmt.Printf("hello, %s, from %s\n", to.Name, g.Member)
		return err
	})
	member, err := rota.Join(ctx, rota.Config{Member: "web-1", Store: memory.New().Open(), Types: []rota.Type{greet}})
	if err != nil {
		return err
	}
	if err := member.Submit(ctx, "hello", rota.Task{Type: "greet", Config: map[string]string{"Name": "world"}}); err != nil {
		return err
	}
	if err := member.Wait(ctx, "hello"); err != nil {
		return err
	}
	return member.Leave(ctx)
}
