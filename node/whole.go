package node

import (
	"context"
	"sync"
	"time"

	"github.com/rota-run/rota/cluster"
)

// whole is the value as it was observed last for those that look at all of it, on a member that has an excerpt.
type whole struct {
	mu     sync.Mutex
	value  cluster.Value
	forget *time.Timer
}

// The times of an observation: how long it may take, and for how long the value is kept to go on from.
const (
	observeTimeout = 5 * time.Second
	observedFor    = time.Minute
)

// Whole returns the whole value: that of the member, or, where it has an excerpt, what the store has now. Where the store does not answer it is the one
// that was seen last.
func (n *Node) Whole() cluster.Value {
	if !n.member.Status().Light {
		return n.member.Value()
	}
	w := &n.whole
	w.mu.Lock()
	defer w.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), observeTimeout)
	defer cancel()
	v, err := n.c.Protocol.Observe(ctx, n.c.Store, w.value)
	if err != nil {
		n.c.Logger.Warn("observe the cluster", "err", err)
	}
	if v.Index() > 0 {
		w.value = v
	}
	if w.forget != nil {
		w.forget.Stop()
	}
	w.forget = time.AfterFunc(observedFor, n.forgetWhole)
	if w.value.Index() == 0 {
		return n.member.Value()
	}
	return w.value
}

func (n *Node) forgetWhole() {
	n.whole.mu.Lock()
	defer n.whole.mu.Unlock()
	n.whole.value = cluster.Value{}
}

// lookEvery is how often those are woken that wait for a change of the whole value, on a member that hears only of its own.
const lookEvery = time.Second

// wakeLookers wakes them until ctx ends.
func (n *Node) wakeLookers(ctx context.Context) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			n.whole.mu.Lock()
			if n.whole.forget != nil {
				n.whole.forget.Stop()
			}
			n.whole.mu.Unlock()
			return
		case <-tick.C:
			if n.member.Status().Light {
				n.changed.fire()
			}
		}
	}
}
