package rota_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/rota-run/rota"
	"github.com/rota-run/rota/store/memory"
)

// A consumer of shards, each a range of numbers here. The position is kept with the shard, under its token, so the next
// owner goes on behind it. A shard that turns out to be large is split: the halves are partitions of their own, and run
// on other members too.
func ExampleGrant_Split() {
	var sum atomic.Int64
	consume := rota.NewType("consume", func(ctx context.Context, g *rota.Grant, _ struct{}) error {
		first, last := bounds(g.Key)
		if last-first > 50 && len(g.Parents) == 0 {
			half := (first + last) / 2
			return g.Split(ctx, []rota.Child{
				{Key: fmt.Sprintf("%d-%d", first, half), Parents: []string{g.Key}},
				{Key: fmt.Sprintf("%d-%d", half+1, last), Parents: []string{g.Key}},
			})
		}
		at, err := g.LoadPosition(ctx)
		if err != nil {
			return err
		}
		if n, err := strconv.Atoi(string(at)); err == nil {
			first = n + 1 // a former owner came so far
		}
		for n := first; n <= last && ctx.Err() == nil; n++ {
			sum.Add(int64(n))
			err := g.SavePosition(ctx, []byte(strconv.Itoa(n)))
			if errors.Is(err, rota.ErrToken) {
				return err // a newer owner has begun: this one stops
			}
		}
		return context.Cause(ctx) // nil: the shard is done, for ever
	})
	ctx := context.Background()
	m, err := rota.Join(ctx, rota.Config{Member: "web-1", Store: memory.New().Open(), Types: []rota.Type{consume}})
	if err != nil {
		fmt.Println(err)
		return
	}
	err = m.Submit(ctx, "numbers",
		rota.Task{Type: "consume", Spread: rota.Partitioned, Partitions: []string{"1-100", "101-120"}})
	fmt.Println(err, m.Wait(ctx, "numbers"), sum.Load(), m.Leave(ctx))
	// Output: <nil> <nil> 7260 <nil>
}

func bounds(key string) (first, last int) {
	a, b, _ := strings.Cut(key, "-")
	first, _ = strconv.Atoi(a)
	last, _ = strconv.Atoi(b)
	return first, last
}
