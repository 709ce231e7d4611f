package faults

import (
	"context"
	"time"

	"github.com/rota-run/rota/store"
)

// FullGroup is a store with a group besides.
type FullGroup interface {
	Full
	store.Group
}

// FaultyGroup is a Faulty with a group. The calls of the group change something, and have its outcomes: "join", "sync",
// "beat", "quit".
type FaultyGroup struct {
	*Faulty
	group store.Group
}

var _ FullGroup = (*FaultyGroup)(nil)

// NewFaultyGroup wraps a handle; a nil plan passes everything.
func NewFaultyGroup(inner FullGroup, plan Plan) *FaultyGroup {
	return &FaultyGroup{NewFaulty(inner, plan), inner}
}

// asked makes a request that may wait for other members. Where nobody waits for its answer, neither does this.
func asked(ctx context.Context) (context.Context, context.CancelFunc) {
	if ctx.Done() == nil {
		return context.WithTimeout(ctx, time.Millisecond)
	}
	return ctx, func() {}
}

// JoinGroup implements store.Group.
func (f *FaultyGroup) JoinGroup(ctx context.Context, r store.JoinRequest) (store.Membership, error) {
	var m store.Membership
	passed := false
	err := f.write(ctx, "join", r.ID, func(c context.Context) (err error) {
		c, cancel := asked(c)
		defer cancel()
		got, err := f.group.JoinGroup(c, r)
		if c == ctx { // else nobody hears of it
			m, passed = got, true
		}
		return err
	})
	if !passed {
		return store.Membership{}, err
	}
	return m, err
}

// SyncGroup implements store.Group.
func (f *FaultyGroup) SyncGroup(ctx context.Context, s store.Seat, give []store.GroupMember) (given []byte, err error) {
	err = f.write(ctx, "sync", s.ID, func(c context.Context) error {
		c, cancel := asked(c)
		defer cancel()
		got, err := f.group.SyncGroup(c, s, give)
		if c == ctx {
			given = got
		}
		return err
	})
	return given, err
}

// Heartbeat implements store.Group.
func (f *FaultyGroup) Heartbeat(ctx context.Context, s store.Seat) error {
	return f.write(ctx, "beat", s.ID, func(ctx context.Context) error { return f.group.Heartbeat(ctx, s) })
}

// LeaveGroup implements store.Group.
func (f *FaultyGroup) LeaveGroup(ctx context.Context, id string) error {
	return f.write(ctx, "quit", id, func(ctx context.Context) error { return f.group.LeaveGroup(ctx, id) })
}
