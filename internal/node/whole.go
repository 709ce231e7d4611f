package node

import (
	"context"
	"sync"
	"time"

	"github.com/rota-run/rota/cluster"
)

// whole is the value as it was observed last for those that look at all of it, on a member that has an excerpt. One
// observation is under way at a time; who comes meanwhile shares the next one with all others that wait.
type whole struct {
	mu      sync.Mutex
	value   cluster.Value
	running *observation // nil for none
	next    *observation // nil where nobody waits for one
	forget  *time.Timer
}

// observation is one read of the whole value.
type observation struct {
	done   chan struct{}
	cancel context.CancelFunc
}

// The times of an observation: how long it may take, and for how long the value is kept to go on from.
const (
	observeTimeout = 5 * time.Second
	observedFor    = time.Minute
)

// Whole returns the whole value: that of the member, or, where it has an excerpt, what the store has now. Where the
// store does not answer in time it is the one that was seen last.
func (n *Node) Whole() cluster.Value {
	if !n.member.Status().Light {
		return n.member.Value()
	}
	w := &n.whole
	patience := time.NewTimer(observeTimeout)
	defer patience.Stop()
	select {
	case <-n.observation().done:
	case <-patience.C:
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.value.Index() == 0 {
		return n.member.Value()
	}
	return w.value
}

// Latest returns the whole value that the store has now, which this member may have yet to hear of. It waits for the
// store as long as Whole does.
func (n *Node) Latest(ctx context.Context) (cluster.Value, error) {
	if n.member.Status().Light {
		return n.Whole(), nil
	}
	ctx, cancel := context.WithTimeout(ctx, observeTimeout)
	defer cancel()
	return n.c.Protocol.Observe(ctx, n.c.Store, n.member.Value())
}

// observation is one that begins now or later: what has begun before may miss what its caller knows of.
func (n *Node) observation() *observation {
	w := &n.whole
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.next == nil {
		w.next = &observation{done: make(chan struct{})}
	}
	o := w.next
	if w.running == nil {
		n.observeNext()
	}
	return o
}

// observeNext begins the next observation. w.mu is held.
func (n *Node) observeNext() {
	w := &n.whole
	o := w.next
	w.running, w.next = o, nil
	if o == nil {
		return
	}
	var ctx context.Context
	ctx, o.cancel = context.WithTimeout(context.Background(), observeTimeout)
	go n.observe(ctx, o, w.value)
}

func (n *Node) observe(ctx context.Context, o *observation, from cluster.Value) {
	v, err := n.c.Protocol.Observe(ctx, n.c.Store, from)
	o.cancel()
	if err != nil {
		n.c.Logger.Warn("observe the cluster", "err", err)
	}
	w := &n.whole
	w.mu.Lock()
	defer w.mu.Unlock()
	if v.Index() > 0 {
		w.value = v
	}
	if w.forget != nil {
		w.forget.Stop()
	}
	w.forget = time.AfterFunc(observedFor, n.forgetWhole)
	close(o.done)
	n.observeNext()
}

// endWhole ends what runs for the whole value.
func (n *Node) endWhole() {
	n.whole.mu.Lock()
	running := n.whole.running
	if running != nil {
		running.cancel()
	}
	n.whole.mu.Unlock()
	if running != nil {
		<-running.done
	}
	n.whole.mu.Lock()
	defer n.whole.mu.Unlock()
	if n.whole.forget != nil {
		n.whole.forget.Stop()
	}
}

func (n *Node) forgetWhole() {
	n.whole.mu.Lock()
	defer n.whole.mu.Unlock()
	n.whole.value = cluster.Value{}
}

// lookEvery is how often those are woken that wait for a change of the whole value, on a member that hears only of its
// own.
const lookEvery = time.Second

// wakeLookers wakes them until ctx ends.
func (n *Node) wakeLookers(ctx context.Context) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			n.endWhole()
			return
		case <-tick.C:
			if n.member.Status().Light {
				n.changed.Fire()
			}
		}
	}
}
