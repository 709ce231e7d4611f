package nats

import (
	"context"
	"slices"
	"sync"

	"github.com/rota-run/rota/store"
)

// queues are the flows of a handle.
type queues struct {
	*wire
	queue queue
}

// queue is what a handle keeps of flows.
type queue struct {
	mu     sync.Mutex
	flows  map[string]known
	making map[string]chan struct{} // closed when the flow was made, or not
	leases map[string]leased        // by receipt
	going  bool                     // the goroutine that keeps leases
}

// known is what a handle knows of a flow.
type known struct {
	shards []store.Shard
	made   bool // all of it was made, or found, through this handle
}

func (q *queue) remember(flow string, shards []store.Shard, made bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.flows == nil {
		q.flows = make(map[string]known)
	}
	q.flows[flow] = known{slices.Clone(shards), made || q.flows[flow].made}
}

// turn lets the callers of this handle make a flow one after the other: the later ones find it made.
func (q *queue) turn(ctx context.Context, flow string) (done func(), err error) {
	for {
		q.mu.Lock()
		other, busy := q.making[flow]
		if !busy {
			mine := make(chan struct{})
			if q.making == nil {
				q.making = make(map[string]chan struct{})
			}
			q.making[flow] = mine
			q.mu.Unlock()
			return func() {
				q.mu.Lock()
				defer q.mu.Unlock()
				delete(q.making, flow)
				close(mine)
			}, nil
		}
		q.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return nil, sendError(ctx, context.Cause(ctx), false)
		}
	}
}

// made tells whether this handle has made the flow before, with these shards.
func (q *queue) made(flow string, shards []store.Shard) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.flows[flow].made && slices.Equal(q.flows[flow].shards, shards)
}

func (q *queue) forget(flow string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.flows, flow)
}
