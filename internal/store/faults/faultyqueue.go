package faults

import (
	"context"

	"github.com/rota-run/rota/store"
)

// FaultyQueue is a queue of which calls are refused, as a plan says.
type FaultyQueue struct {
	store.Queue
	Plan Plan
}

func (q FaultyQueue) refused(op string) error {
	if q.Plan(Call{Op: op}) == Refused {
		return store.ErrUnavailable
	}
	return nil
}

// Receive implements store.Queue.
func (q FaultyQueue) Receive(ctx context.Context, flow string, r store.Receive) ([]store.Message, error) {
	if err := q.refused("receive"); err != nil {
		return nil, err
	}
	return q.Queue.Receive(ctx, flow, r)
}

// Commit implements store.Queue.
func (q FaultyQueue) Commit(ctx context.Context, flow string, units ...store.Unit) ([]bool, error) {
	if err := q.refused("commit"); err != nil {
		return nil, err
	}
	return q.Queue.Commit(ctx, flow, units...)
}

// Depth implements store.Queue.
func (q FaultyQueue) Depth(ctx context.Context, flow string, shards ...store.Shard) ([]store.Depth, error) {
	if err := q.refused("depth"); err != nil {
		return nil, err
	}
	return q.Queue.Depth(ctx, flow, shards...)
}
