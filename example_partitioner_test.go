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
			cancel()
			return nil
		},
	})
	m, _ := rota.Join(ctx, rota.Config{Member: "web-1", Store: memory.New().Open(), Types: []rota.Type{shout}})
	_ = m.Submit(ctx, "greetings", rota.Task{Type: "shout", Spread: rota.Partitioned, Partitions: []string{"all"}})
	<-ctx.Done()
	fmt.Println(m.Leave(context.WithoutCancel(ctx)))
	// Output:
	// greeting HELLO
	// <nil>
}
