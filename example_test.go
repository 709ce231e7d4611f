package rota_test

import (
	"context"
	"fmt"
	"time"

	"github.com/rota-run/rota"
	"github.com/rota-run/rota/store/memory"
)

// A program joins a cluster and sends a report: one process of the cluster does at a time, under a token that only
// grows.
func Example() {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	fmt.Println(report(ctx, memory.New().Open()))
	// Output:
	// sent under token 1
	// <nil>
}

// report is the example in README.md.
func report(ctx context.Context, store rota.Store) error {
	member, err := rota.Join(ctx, rota.Config{Member: "web-1", Store: store})
	if err != nil {
		return err
	}
	defer member.Leave(ctx)
	return member.Singleton(ctx, "monthly-report", func(ctx context.Context, token rota.Token) error {
		return send(ctx, token) // on one process at a time; ctx ends when the lock is lost
	})
}

func send(ctx context.Context, token rota.Token) error {
	fmt.Println("sent under token", token)
	return ctx.Err()
}
