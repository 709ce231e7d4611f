package rota_test

import (
	"context"
	"fmt"
	"time"

	"github.com/rota-run/rota"
	"github.com/rota-run/rota/store/memory"
)

// A program joins a cluster, brings a task type, and submits a task; it runs once, on one of the members.
func Example() {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	done := make(chan struct{})
	greet := rota.NewType("greet", func(_ context.Context, g *rota.Grant, to struct{ Name string }) error {
		fmt.Printf("%s greets %s\n", g.Member, to.Name)
		close(done)
		return nil
	})
	m, err := rota.Join(ctx, rota.Config{Member: "web-1", Store: memory.New().Open(), Types: []rota.Type{greet}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(m.Submit(ctx, "hello", rota.Task{Type: "greet", Config: map[string]string{"Name": "the world"}}))
	<-done
	fmt.Println(m.Leave(ctx))
	// Unordered output:
	// <nil>
	// web-1 greets the world
	// <nil>
}
