package rota_test

import (
	"context"
	"fmt"
	"sync"

	"github.com/rota-run/rota"
	"github.com/rota-run/rota/store/memory"
)

// A flow of three tasks: in puts out the numbers from 1 to 1,000, inc adds one to each on any number of slots, and out
// sums them up.
func ExampleStage() {
	type none struct{}
	in := rota.NewInput("in", rota.Input[none, int]{Read: func(_ context.Context, _ *rota.Grant, _ none, at []byte,
		out *rota.Sender[int]) ([]byte, bool, error) {
		for n := len(at)*100 + 1; n <= len(at)*100+100; n++ {
			_ = out.Send(n) // its error fails the batch by itself
		}
		return append(at, 'x'), len(at) == 9, nil
	}})
	inc := rota.NewStage("inc", rota.Stage[none, int, int]{Do: func(_ context.Context, _ *rota.Grant, _ none, in []int,
		out *rota.Sender[int]) error {
		for _, n := range in {
			_ = out.Send(n + 1)
		}
		return nil
	}})
	var sums sync.Map // by batch: one that is written again counts once
	out := rota.NewOutput("out",
		rota.Output[none, int]{Write: func(ctx context.Context, _ *rota.Grant, _ none, in []int) error {
			sum := 0
			for _, n := range in {
				sum += n
			}
			sums.Store(rota.BatchName(ctx), sum)
			return nil
		}})

	ctx := context.Background()
	m, err := rota.Join(ctx, rota.Config{Member: "m", Store: memory.New().Open(), Slots: 4,
		Types: []rota.Type{in, inc, out}})
	if err != nil {
		panic(err)
	}
	_, err = m.SubmitFile(ctx, "sum.yaml",
		[]byte("tasks: [{name: in, type: in}, {name: inc, type: inc, from: in}, {name: out, type: out, from: inc}]"))
	fmt.Println(err, m.Wait(ctx, "sum"))
	total := 0
	sums.Range(func(_, n any) bool { total += n.(int); return true })
	fmt.Println(total, m.Leave(ctx))
	// Output:
	// <nil> <nil>
	// 501500 <nil>
}
