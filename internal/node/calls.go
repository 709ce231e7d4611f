package node

import (
	"context"
	"errors"
	"fmt"

	"github.com/rota-run/rota/call"
	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/work"
)

func (n *Node) newWorker() (*call.Worker, error) {
	if len(n.c.Functions) > 0 && n.c.Slots <= 0 {
		return nil, errors.New("there are functions, and no slots: one call runs on each, so give it some")
	}
	return call.NewWorker(call.RunnerConfig{
		Member: n.c.Member, Docs: n.c.Store, Functions: n.c.Functions, Slots: n.idleSlots, Clock: n.c.Clock,
		Tenure: n.member.Tenure,
		Value:  n.member.Value, Changed: n.changed.Next, Journal: n.record, Retention: n.c.ResultRetention,
		Grace: n.c.DrainTimeout, Logger: n.c.Logger,
		Started: n.callStarted, Stopped: n.callStopped,
	})
}

// idleSlots are those that no task has.
func (n *Node) idleSlots() int64 {
	idle := n.c.Slots
	for p := range n.member.Value().OwnedBy(n.c.Member) {
		if p.Slot != 0 {
			idle--
		}
	}
	return idle
}

// runCalls runs calls until ctx ends or the member is gone. The channel is closed when none runs any more.
func (n *Node) runCalls(ctx context.Context, gone, hurry <-chan struct{}) <-chan struct{} {
	ended := make(chan struct{})
	ctx, stop := context.WithCancelCause(ctx)
	go func() {
		defer close(ended)
		defer stop(nil)
		n.calls.Run(ctx, hurry)
	}()
	go func() {
		select {
		case <-gone:
			stop(work.CauseLeaseLost)
		case <-ended:
		}
	}()
	return ended
}

// partitionOfCall is how a call is named where partitions are.
func partitionOfCall(id string) cluster.PartitionID {
	return cluster.PartitionID(fmt.Sprintf("call:%s", id))
}

func (n *Node) callStarted(id string, token uint64) {
	n.witness.note(n.c.Clock(), "start", partitionOfCall(id), cluster.Token(token))
}

func (n *Node) callStopped(id string, token uint64) {
	n.witness.note(n.c.Clock(), "stop", partitionOfCall(id), cluster.Token(token))
}
