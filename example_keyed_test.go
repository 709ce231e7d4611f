package rota_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/rota-run/rota"
	"github.com/rota-run/rota/store/memory"
)

// A flow that counts words: count keeps how often it has seen each word of its shards, and sends that at the end.
func ExampleKeyed() {
	type none struct{}
	type tally struct {
		Word string
		N    int
	}
	read := rota.NewInput("read",
		rota.Input[none, string]{Read: func(_ context.Context, _ *rota.Grant, _ none, _ []byte,
			out *rota.Sender[string]) ([]byte, bool, error) {
			for _, word := range strings.Fields("the cat and the dog and the bird") {
				_ = out.Send(word) // its error fails the batch by itself
			}
			return nil, true, nil
		}})
	count := rota.NewKeyed("count", rota.Keyed[none, string, tally, map[string]int]{
		Do: func(_ context.Context, _ *rota.Grant, _ none, seen *map[string]int, in []string,
			_ *rota.Sender[tally]) error {
			if *seen == nil {
				*seen = make(map[string]int)
			}
			for _, word := range in {
				(*seen)[word]++
			}
			return nil
		},
		End: func(_ context.Context, _ *rota.Grant, _ none, seen *map[string]int, out *rota.Sender[tally]) error {
			for word, n := range *seen {
				_ = out.Send(tally{word, n})
			}
			return nil
		},
	})
	var mu sync.Mutex
	var lines []string
	write := rota.NewOutput("write",
		rota.Output[none, tally]{Write: func(_ context.Context, _ *rota.Grant, _ none, in []tally) error {
			mu.Lock()
			defer mu.Unlock()
			for _, t := range in {
				lines = append(lines, fmt.Sprint(t.Word, " ", t.N))
			}
			return nil
		}})

	ctx := context.Background()
	m, err := rota.Join(ctx, rota.Config{Member: "m", Store: memory.New().Open(), Slots: 4,
		Types: []rota.Type{read, count, write}})
	if err != nil {
		panic(err)
	}
	_, err = m.SubmitFile(ctx, "words.yaml", []byte(`tasks:
- {name: read, type: read}
- {name: count, type: count, keyed: true, from: {task: read, shards: 3, by: "*"}}
- {name: write, type: write, from: count}`))
	fmt.Println(err, m.Wait(ctx, "words"), m.Leave(ctx))
	slices.Sort(lines)
	fmt.Println(strings.Join(lines, ", "))
	// Output:
	// <nil> <nil> <nil>
	// and 2, bird 1, cat 1, dog 1, the 3
}
