package operate

import (
	"context"
	"errors"
	"fmt"

	"github.com/rota-run/rota/cluster"
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

// Configure changes settings of the cluster, which all members follow.
func (o *Operator) Configure(ctx context.Context, c cluster.Configure) (Answer, error) {
	return o.ask(ctx, c)
}
