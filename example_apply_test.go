package rota_test

import (
	"context"
	"fmt"
	"time"

	"github.com/rota-run/rota"
	"github.com/rota-run/rota/store/memory"
)

// One of the replicas of a service sends the reports. Each replica calls Apply when it starts; the token fences what
// the owner writes.
func ExampleMember_Apply() {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	done := make(chan struct{})
	report := rota.NewType("report", func(ctx context.Context, g *rota.Grant, to struct{ Name string }) error {
		fmt.Printf("reports go to %s, fenced: %t\n", to.Name, g.Token > 0)
		done <- struct{}{}
		<-ctx.Done() // works until the task moves, changes or is killed
		return nil
	})
	m, err := rota.Join(ctx, rota.Config{Member: "web-1", Store: memory.New().Open(), Types: []rota.Type{report}})
	if err != nil {
		fmt.Println(err)
		return
	}
	to := func(name string, version int64) rota.Task {
		return rota.Task{Type: "report", Config: map[string]string{"Name": name}, Version: version}
	}
	fmt.Println(m.Apply(ctx, "reports", to("alice", 1)))
	<-done
	fmt.Println(m.Apply(ctx, "reports", to("bob", 2))) // a newer replica
	<-done
	fmt.Println(m.Apply(ctx, "reports", to("alice", 1))) // an older one
	fmt.Println(m.Leave(ctx))
	// Unordered output:
	// true <nil>
	// reports go to alice, fenced: true
	// true <nil>
	// reports go to bob, fenced: true
	// false apply job "reports": a higher version is there: 2, this is 1
	// <nil>
}
