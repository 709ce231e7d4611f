package operate

import (
	"context"
	"errors"
	"fmt"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/node"
	"github.com/rota-run/rota/journal"
)

// Drain moves the tasks of a member away and gives it no more until [Operator.Undrain], also when it restarts.
func (o *Operator) Drain(ctx context.Context, id cluster.MemberID) (Answer, error) {
	a, err := o.ask(ctx, cluster.DrainMember{Member: id, On: true})
	if err != nil {
		return a, err
	}
	if _, err := node.KeepDrained(ctx, o.docs, id, true, o.by); err != nil {
		return Answer{}, fmt.Errorf("it is drained, and forgets that when it restarts: %w", err)
	}
	return a, nil
}

// Undrain gives a drained member tasks again; one that is down takes them when it is back.
func (o *Operator) Undrain(ctx context.Context, id cluster.MemberID) (Answer, error) {
	c := cluster.DrainMember{Member: id}
	agreed := o.propose(ctx, c)
	if agreed != nil && !errors.Is(agreed, ErrRefused) {
		return Answer{}, agreed
	}
	was, err := node.KeepDrained(ctx, o.docs, id, false, o.by) // the cluster has agreed, or does not know the member
	if err != nil {
		return Answer{}, err
	}
	if agreed != nil && !was {
		return Answer{}, agreed
	}
	return o.done(ctx, c), nil
}

// Evict ends a member: it is told, its tasks move away, and its process leaves and ends. It comes back when it is
// started again. A suspended member is told when it resumes, and may run a task for a moment first; others take its tasks
// after its TTL. A member that has announced a restart runs nothing: others take its tasks at once.
func (o *Operator) Evict(ctx context.Context, id cluster.MemberID) (Answer, error) {
	v, err := o.at.Value(ctx)
	if err != nil {
		return Answer{}, err
	}
	said := "evict-member " + string(id)
	switch m, _ := v.Member(id); {
	case m.ID == "":
		return Answer{}, &RefusedError{Said: said, Reason: "no such member", Try: "rota member list", Kind: ErrRefused}
	case m.State == cluster.MemberHeld:
		err = o.propose(ctx, cluster.ReleaseHold{Member: id, Incarnation: m.Incarnation})
	default:
		if err = node.KeepEvicted(ctx, o.docs, m, o.by); err == nil { // first: it looks when it is drained
			err = o.propose(ctx, cluster.DrainMember{Member: id, On: true})
		}
	}
	if err != nil {
		return Answer{}, err
	}
	asked := journal.Record{Kind: journal.Asked, Message: said, By: o.by}
	return Answer{Said: said, Changed: true, Unjournaled: o.at.Record(ctx, asked)}, nil
}

// Configure changes settings of the cluster, which all members follow.
func (o *Operator) Configure(ctx context.Context, c cluster.Configure) (Answer, error) {
	return o.ask(ctx, c)
}

// Rebalance evens the load of a pinned cluster, once: see [cluster.Rebalance].
func (o *Operator) Rebalance(ctx context.Context) (Answer, error) {
	return o.ask(ctx, cluster.Rebalance{})
}
