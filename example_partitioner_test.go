package rota_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/rota-run/rota"
	"github.com/rota-run/rota/store/memory"
)

// A partitioner lists what there is to do, a window of it at a time; each item is done on one of the members.
func ExampleNewPartitioner() {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	shout := rota.NewPartitioner("shout", rota.Partitioner[struct{}]{
		List: func(_ context.Context, _ *rota.Grant, _ struct{}, cursor []byte, _ int) (rota.Page, error) {
			if cursor != nil {
				return rota.Page{End: true}, nil
			}
			return rota.Page{Items: []rota.Item{{Key: "greeting", Input: []byte("hello")}}, Cursor: []byte("1")}, nil
		},
		Run: func(_ context.Context, g *rota.Grant, _ struct{}) error {
			fmt.Println(g.Key, strings.ToUpper(string(g.Input)))
			return nil
		},
	})
	m, _ := rota.Join(ctx, rota.Config{Member: "web-1", Store: memory.New().Open(), Types: []rota.Type{shout}})
	_ = m.Submit(ctx, "greetings", rota.Task{Type: "shout", Spread: rota.Partitioned, Partitions: []string{"all"}})
	fmt.Println(m.Wait(ctx, "greetings"), m.Leave(ctx))
	// Output:
	// greeting HELLO
	// <nil> <nil>
}

// The slots of a pool divide an input that any fixed number of readers can divide among themselves.
func ExampleTask_repartition() {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	shares := make(chan string)
	poll := rota.NewType("poll", func(ctx context.Context, g *rota.Grant, _ struct{}) error {
		shares <- fmt.Sprintf("share %d of %d", g.Index, g.Count)
		<-ctx.Done()
		return nil
	})
	m, _ := rota.Join(ctx, rota.Config{Member: "web-1", Store: memory.New().Open(), Types: []rota.Type{poll}, Slots: 2})
	_ = m.Submit(ctx, "pages", rota.Task{Type: "poll", Spread: rota.Pool, Repartition: true})
	fmt.Println(<-shares)
	fmt.Println(<-shares)
	fmt.Println(m.Leave(ctx))
	// Unordered output:
	// share 0 of 2
	// share 1 of 2
	// <nil>
}
