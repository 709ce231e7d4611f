package rota_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rota-run/rota"
	"github.com/rota-run/rota/store/memory"
)

// The loop of a leader, as the source document elasticsearch-cluster-state has it: it waits for idle workers, gives
// one a file, marks a worker dead that failed, and puts the file back.
func ExampleClient_IdleWorkers() {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	shared := memory.New()
	name := "download" // what travels is this name and the argument
	for _, worker := range []string{"good", "bad"} {
		download := rota.NewFunc(name, func(_ context.Context, file string) (string, error) {
			if worker == "bad" {
				return "", rota.Permanent(errors.New("disk full"))
			}
			return file, nil
		})
		m, err := rota.Join(ctx, rota.Config{
			Member: worker, Store: shared.Open(), Slots: 1, Functions: []rota.Function{download},
		})
		if err != nil {
			fmt.Println(err)
			return
		}
		defer m.Leave(ctx)
	}
	c, err := rota.Open(shared.Open(), rota.ClientOptions{Name: "leader"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close(ctx)
	download := rota.NewFunc(name, func(context.Context, string) (string, error) { return "", nil })

	files := make(chan string, 4)
	for _, f := range []string{"a", "b", "c", "d"} {
		files <- f
	}
	var left sync.WaitGroup
	left.Add(len(files))
	go func() { left.Wait(); close(files) }()
	for file := range files {
		idle, err := c.IdleWorkers(ctx) // waits until there is one
		if err != nil {
			fmt.Println(err)
			return
		}
		worker := idle[0].Member
		call, err := download.With(rota.FuncOptions{On: worker}).Submit(ctx, c, file)
		if err != nil {
			fmt.Println(err)
			return
		}
		call.OnDone(func(string) { left.Done() })
		call.OnFailureOrTimeout(func(error) {
			if err := c.MarkDead(ctx, worker); err != nil {
				fmt.Println(err)
			}
			files <- file
		})
	}
	idle, err := c.IdleWorkers(ctx)
	fmt.Println(idle, err)
	// Output: [{good 1}] <nil>
}
