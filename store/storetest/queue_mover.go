package storetest

import (
	"context"
	"time"

	"github.com/rota-run/rota/store"
)

// mover is a worker that moves messages from in to out until in is drained.
type mover[S store.Queue] struct {
	queue  S
	number int
}

func (m mover[S]) run(ctx context.Context) error {
	for turn := m.number; ctx.Err() == nil; turn++ {
		got, err := m.queue.Receive(ctx, flowName, store.Receive{Shard: in, Limit: 5, Lease: short})
		if err != nil {
			return err
		}
		if len(got) == 0 {
			d, err := m.queue.Depth(ctx, flowName, in)
			if err != nil || d[0].Drained() {
				return err
			}
			time.Sleep(10 * time.Millisecond) // waits: for leases of others to end
			continue
		}
		if turn%7 == 3 {
			continue // it forgets what it has
		}
		if err := m.move(ctx, got, turn%5 == 2); err != nil {
			return err
		}
	}
	return context.Cause(ctx)
}

// move commits what was received, twice if it is told to.
func (m mover[S]) move(ctx context.Context, got []store.Message, twice bool) error {
	var units []store.Unit
	for i := range got {
		units = append(units, store.Unit{Inputs: got[i : i+1], Outputs: []store.Put{{Shard: out, Segments: 1, Data: got[i].Data}}})
	}
	_, err := m.queue.Commit(ctx, flowName, units...)
	if err == nil && twice {
		_, err = m.queue.Commit(ctx, flowName, units...)
	}
	return err
}
