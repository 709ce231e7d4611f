package rota

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/rota-run/rota/call"
	"github.com/rota-run/rota/cluster"
)

// Worker is a member that runs functions.
type Worker struct {
	Member string
	Idle   int64 // slots that neither a task nor a call has
}

// IdleWorkers waits until a member has an idle slot, and returns all that have one, those with the most first. A call
// that was submitted to one of them (On of [FuncOptions]) takes a slot, also before it runs; other calls do when they
// run. It reads all calls that the store has. Others may be quicker: a call for a member that is busy again waits.
func (c *Client) IdleWorkers(ctx context.Context) ([]Worker, error) {
	for {
		changed := c.at.Changed()
		v, err := c.at.Value(ctx)
		if err != nil {
			return nil, fmt.Errorf("look for idle workers: %w", err)
		}
		calls, _, err := call.List(ctx, c.docs)
		if err != nil {
			return nil, fmt.Errorf("look for idle workers: %w", err)
		}
		if idle := idleWorkers(v, calls); len(idle) > 0 {
			return idle, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for an idle worker: %w", context.Cause(ctx))
		}
	}
}

func idleWorkers(v Value, calls []call.Listed) []Worker {
	taken := make(map[cluster.MemberID]int64)
	for i := range calls {
		switch r := &calls[i].Record; {
		case r.State == call.Running:
			taken[r.Runner.Member]++
		case r.State == call.Queued && r.On != "":
			taken[r.On]++
		}
	}
	var idle []Worker
	for m := range v.Members() {
		if m.State != cluster.MemberJoined || m.Draining || len(call.Offered(m)) == 0 {
			continue
		}
		n := m.Slots - taken[m.ID]
		for p := range v.OwnedBy(m.ID) {
			if p.Slot != 0 && p.Owner == m.ID {
				n--
			}
		}
		if n > 0 {
			idle = append(idle, Worker{string(m.ID), n})
		}
	}
	slices.SortStableFunc(idle, func(a, b Worker) int { return cmp.Compare(b.Idle, a.Idle) })
	return idle
}

// MarkDead gives a member no more work, and its tasks and waiting calls to others, until it is undrained: it is
// [Member.Drain]. A member whose process has ended needs no mark: the others remove it.
func (c *Client) MarkDead(ctx context.Context, member string) error {
	a, err := c.ops.Drain(ctx, cluster.MemberID(member))
	return c.asked(fmt.Sprintf("mark member %q dead", member), a, err)
}
