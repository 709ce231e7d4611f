package command

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rota-run/rota/flow"
	"github.com/rota-run/rota/store"
	flows "github.com/rota-run/rota/work/stage"
)

// putBack makes messages of the dead letters of a task again. Where its input is sealed they stay: nothing may come after a seal.
func putBack(ctx context.Context, queue store.Queue, name, task string) (n int, err error) {
	dead := store.Shard{Edge: flow.DeadOf(task)}
	newest, err := newestOf(ctx, queue, name, dead)
	if err != nil {
		return 0, err
	}
	for {
		letters, err := queue.Receive(ctx, name, store.Receive{Shard: dead, Limit: 100, Lease: 10 * time.Second})
		if err != nil || len(letters) == 0 {
			return n, err
		}
		for i := range letters {
			if letters[i].Number > newest { // it came while others were put back: it may be one of those, and would come again
				_, err := queue.Receive(ctx, name, store.Receive{Shard: dead, Return: letters[i:]})
				return n, err
			}
			if err := putBackOne(ctx, queue, name, letters[i]); err != nil {
				_, back := queue.Receive(ctx, name, store.Receive{Shard: dead, Return: letters[i:]})
				return n, errors.Join(err, back)
			}
			n++
		}
	}
}

// newestOf is the number of the newest message of a shard, 0 if there is none.
func newestOf(ctx context.Context, queue store.Queue, name string, shard store.Shard) (newest uint64, err error) {
	for {
		all, err := queue.Receive(ctx, name, store.Receive{Shard: shard, Peek: true, After: newest, Limit: 1000})
		if err != nil || len(all) == 0 {
			return newest, err
		}
		newest = all[len(all)-1].Number
	}
}

func putBackOne(ctx context.Context, queue store.Queue, name string, m store.Message) error {
	letter, err := flows.ReadLetter(m.Data)
	if err != nil {
		return err
	}
	to := store.Shard{Edge: letter.Edge, Number: letter.Shard}
	_, err = queue.Commit(ctx, name, store.Unit{
		Inputs: []store.Message{m}, Outputs: []store.Put{{Shard: to, Segments: letter.Segments, Data: letter.Message()}},
		Steady: true, Unsealed: true,
	})
	if errors.Is(err, store.ErrSealed) {
		return fmt.Errorf("all segments have been put into the flow, and nothing may come after them: submit the job again for what is left: %w", err)
	}
	return err
}
