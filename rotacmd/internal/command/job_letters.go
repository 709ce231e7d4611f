package command

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rota-run/rota/flow"
	"github.com/rota-run/rota/store"
	flows "github.com/rota-run/rota/work/stage"
)

// takeLetters takes the dead letters of a task that are there now.
func takeLetters(ctx context.Context, queue store.Queue, name, task string, take letterTaker) (n int, err error) {
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
		old := letters
		if i := slices.IndexFunc(letters, func(m store.Message) bool { return m.Number > newest }); i >= 0 { // it came while others were put back: it may be one of those, and would come again
			old = letters[:i]
		}
		taken, err := take(ctx, queue, name, old)
		if n += taken; err != nil || len(old) < len(letters) {
			_, back := queue.Receive(ctx, name, store.Receive{Shard: dead, Return: letters[taken:]})
			return n, errors.Join(err, back)
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

// letterTaker does with dead letters what they are taken for, and returns with how many of them it did.
type letterTaker func(ctx context.Context, queue store.Queue, name string, letters []store.Message) (n int, err error)

func drop(ctx context.Context, queue store.Queue, name string, letters []store.Message) (int, error) {
	units := make([]store.Unit, 0, len(letters))
	for _, m := range letters {
		units = append(units, store.Unit{Inputs: []store.Message{m}})
	}
	if _, err := queue.Commit(ctx, name, units...); err != nil {
		return 0, err
	}
	return len(letters), nil
}

func putBack(ctx context.Context, queue store.Queue, name string, letters []store.Message) (int, error) {
	for i, m := range letters {
		if err := putBackOne(ctx, queue, name, m); err != nil {
			return i, err
		}
	}
	return len(letters), nil
}

// putBackOne makes a message of a dead letter again. Where its input is sealed it stays: nothing may come after a seal.
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
