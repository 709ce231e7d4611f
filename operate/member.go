package operate

import (
	"context"
	"errors"
	"fmt"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/journal"
	"github.com/rota-run/rota/node"
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

// Evict ends the wait for a member that has announced a restart: others take its tasks at once. It has stopped them all
// before it announced that, so nothing runs twice. Any other member may still run its tasks, and is refused: they move
// when it has left, or was silent for its TTL.
func (o *Operator) Evict(ctx context.Context, id cluster.MemberID) (Answer, error) {
	v, err := o.at.Value(ctx)
	if err != nil {
		return Answer{}, err
	}
	m, _ := v.Member(id)
	no := &RefusedError{Said: "evict-member " + string(id), Kind: ErrRefused}
	switch {
	case m.ID == "":
		no.Reason, no.Try = "no such member", "rota member list"
		return Answer{}, no
	case m.State != cluster.MemberHeld:
		no.Reason = "it may still run its tasks; once it was silent for its TTL, others take them without being asked"
		no.Try = fmt.Sprintf("rota member drain %[1]s, where it lives; or stop its process", id)
		return Answer{}, no
	}
	if err := o.propose(ctx, cluster.ReleaseHold{Member: id, Incarnation: m.Incarnation}); err != nil {
		return Answer{}, err
	}
	asked := journal.Record{Kind: journal.Asked, Message: no.Said, By: o.by}
	return Answer{Said: no.Said, Changed: true, Unjournaled: o.at.Record(ctx, asked)}, nil
}

// Configure changes settings of the cluster, which all members follow.
func (o *Operator) Configure(ctx context.Context, c cluster.Configure) (Answer, error) {
	return o.ask(ctx, c)
}

// Rebalance evens the load of a pinned cluster, once: see [cluster.Rebalance].
func (o *Operator) Rebalance(ctx context.Context) (Answer, error) {
	return o.ask(ctx, cluster.Rebalance{})
}
