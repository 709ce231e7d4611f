package storetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/rota-run/rota/store"
)

func groupAlone[S store.Group](t *testing.T, open Open[S]) {
	tb := sit(t, open, "a")
	a := tb.members[0]
	tb.gather(a)
	if a.m.Generation == 0 || a.m.ID == "" || !a.m.Leads() {
		t.Fatalf("alone: %+v, want an ID, a generation and the lead", a.m)
	}
	a.mustBeat()
	before := a.m
	tb.together(a)
	if a.m.ID != before.ID || a.m.Generation < before.Generation {
		t.Fatalf("joined again: %+v after %+v", a.m, before)
	}
}

func groupGives[S store.Group](t *testing.T, open Open[S]) {
	tb := sit(t, open, "a", "b\x00\xff", "c", "")
	tb.gather(tb.members...)
	for _, p := range tb.members {
		p.mustBeat()
	}
}

func groupFollowerWaits[S store.Group](t *testing.T, open Open[S]) {
	tb := sit(t, open, "a", "b")
	tb.gather(tb.members...)
	leader, follower := tb.leader(), tb.others(tb.leader())[0]
	joined := make(chan error, 1)
	go func() { // a leader that joins begins a new generation
		var err error
		leader.m, err = leader.group.JoinGroup(tb.ctx, leader.request())
		joined <- err
	}()
	follower.awaitRebalance()
	var err error
	if follower.m, err = follower.group.JoinGroup(tb.ctx, follower.request()); err != nil {
		t.Fatalf("the follower joins again: %v", err)
	}
	succeed(t, "the leader joins again", <-joined)
	leader, follower = tb.leader(), tb.others(tb.leader())[0]
	synced := make(chan error, 1)
	go func() { synced <- follower.sync() }()
	select {
	case err := <-synced:
		t.Fatalf("the follower's sync returned before the leader's: %v", err)
	case <-time.After(GroupSession / 10):
	}
	succeed(t, "sync of the leader", leader.sync())
	succeed(t, "sync of the follower", <-synced)
	tb.agree(tb.members...)
	if err := follower.sync(); err != nil { // an answer that was lost
		t.Fatalf("sync of the follower, again: %v", err)
	}
	tb.agree(tb.members...)
}

func groupJoinAgain[S store.Group](t *testing.T, open Open[S]) {
	tb := sit(t, open, "a", "b")
	a, b := tb.members[0], tb.members[1]
	tb.gather(a)
	first := a.m
	joined := make(chan struct{})
	go func() {
		defer close(joined)
		b.round()
	}()
	a.awaitRebalance()
	if _, err := a.group.SyncGroup(tb.ctx, a.m.Seat, nil); !errors.Is(err, store.ErrRebalance) {
		t.Fatalf("sync while the group forms a generation: %v, want ErrRebalance", err)
	}
	a.round()
	<-joined
	if a.err != nil || b.err != nil {
		t.Fatalf("a joins again: %v; b joins: %v", a.err, b.err)
	}
	tb.agree(a, b)
	if a.m.ID != first.ID || a.m.Generation <= first.Generation {
		t.Fatalf("a was %+v, and is %+v: want the same ID and a greater generation", first.Seat, a.m.Seat)
	}
}

func groupLeave[S store.Group](t *testing.T, open Open[S]) {
	tb := sit(t, open, "a", "b")
	tb.gather(tb.members...)
	leader := tb.leader()
	gone := tb.others(leader)[0]
	for range 2 {
		succeed(t, "leave", gone.group.LeaveGroup(tb.ctx, gone.m.ID))
	}
	wantError(t, "heartbeat after leaving", gone.group.Heartbeat(tb.ctx, gone.m.Seat), store.ErrSession)
	leader.awaitRebalance()
	before := leader.m.Generation
	tb.together(leader)
	if leader.m.Generation <= before {
		t.Fatalf("generation %d after %d", leader.m.Generation, before)
	}
	old := gone.m.ID
	gone.m = store.Membership{}
	tb.gather(leader, gone)
	if gone.m.ID == old {
		t.Fatalf("the ID %q was given again", old)
	}
}

func groupLeaderLeaves[S store.Group](t *testing.T, open Open[S]) {
	tb := sit(t, open, "a", "b", "c")
	tb.gather(tb.members...)
	leader := tb.leader()
	rest := tb.others(leader)
	succeed(t, "leave", leader.group.LeaveGroup(tb.ctx, leader.m.ID))
	for _, p := range rest {
		p.awaitRebalance()
	}
	tb.together(rest...)
}

func groupSilent[S store.Group](t *testing.T, open Open[S]) {
	tb := sit(t, open, "a", "b")
	tb.gather(tb.members...)
	silent, other := tb.members[0], tb.members[1]
	silent.mustBeat()
	began := time.Now()
	other.awaitRebalance()
	tb.together(other)
	if d := time.Since(began); d < GroupSession*8/10 {
		t.Fatalf("a silent member was removed %v after its heartbeat, its session is %v", d, GroupSession)
	}
	wantError(t, "heartbeat of the removed", silent.group.Heartbeat(tb.ctx, silent.m.Seat), store.ErrSession)
	wantError(t, "sync of the removed", errOf(silent.group.SyncGroup(tb.ctx, silent.m.Seat, nil)), store.ErrSession)
	wantError(t, "join of the removed with its ID",
		errOf(silent.group.JoinGroup(tb.ctx, silent.request())), store.ErrSession)
	silent.m = store.Membership{}
	tb.gather(other, silent)
}

// groupAbsent has a member that sends heartbeats, and does not join again: the group waits for Rebalance, not longer.
func groupAbsent[S store.Group](t *testing.T, open Open[S]) {
	tb := sit(t, open, "a", "b", "c")
	absent, other, third := tb.members[0], tb.members[1], tb.members[2]
	tb.gather(absent, other)
	absent.mustBeat()
	began := time.Now()
	done := make(chan *seated, 2)
	go func() { third.round(); done <- third }()
	other.awaitRebalance()
	go func() { other.round(); done <- other }()
	for waiting := 2; waiting > 0; {
		select {
		case p := <-done:
			if p.err != nil {
				t.Fatalf("%s joins: %v", p.name, p.err)
			}
			waiting--
		case <-time.After(GroupSession / 10):
			if err := absent.group.Heartbeat(tb.ctx, absent.m.Seat); err == nil && waiting == 2 {
				t.Fatal("heartbeat while the group forms a generation: no error")
			}
		}
	}
	if d := time.Since(began); d < GroupRebalance*8/10 {
		t.Fatalf("the group waited %v for a member, it wants %v", d, GroupRebalance)
	}
	tb.agree(other, third)
	wantError(t, "heartbeat of who did not join", absent.group.Heartbeat(tb.ctx, absent.m.Seat), store.ErrSession)
}

func groupKept[S store.Group](t *testing.T, open Open[S]) {
	tb := sit(t, open, "a", "b")
	tb.gather(tb.members...)
	for end := time.Now().Add(2 * GroupSession); time.Now().Before(end); {
		for _, p := range tb.members {
			p.mustBeat()
		}
		time.Sleep(GroupSession / 10) // waits: the pace of heartbeats
	}
}

func groupStale[S store.Group](t *testing.T, open Open[S]) {
	tb := sit(t, open, "a", "b")
	a, b := tb.members[0], tb.members[1]
	tb.gather(a)
	old := a.m.Seat
	tb.gather(a, b)
	for _, seat := range []store.Seat{old, {ID: a.m.ID, Generation: a.m.Generation + 1}} {
		wantError(t, "heartbeat", a.group.Heartbeat(tb.ctx, seat), store.ErrGeneration)
		wantError(t, "sync",
			errOf(a.group.SyncGroup(tb.ctx, seat, []store.GroupMember{{ID: a.m.ID, Data: []byte("no")}})), store.ErrGeneration)
	}
	a.mustBeat()
	b.mustBeat()
}

func groupStranger[S store.Group](t *testing.T, open Open[S]) {
	tb := sit(t, open, "a")
	a := tb.members[0]
	nobody := store.Seat{ID: "nobody", Generation: 1}
	check := func() {
		t.Helper()
		wantError(t, "heartbeat", a.group.Heartbeat(tb.ctx, nobody), store.ErrSession)
		wantError(t, "sync", errOf(a.group.SyncGroup(tb.ctx, nobody, nil)), store.ErrSession)
		wantError(t, "join",
			errOf(a.group.JoinGroup(tb.ctx, store.JoinRequest{ID: nobody.ID, Session: GroupSession, Rebalance: GroupRebalance})), store.ErrSession)
		succeed(t, "leave", a.group.LeaveGroup(tb.ctx, nobody.ID))
	}
	check()
	tb.gather(a)
	check()
	a.mustBeat()
}

// groupGivenUp has a Join that nobody waits for any more: the member may exist, and can join with the ID that the error came with.
func groupGivenUp[S store.Group](t *testing.T, open Open[S]) {
	tb := sit(t, open, "a", "b")
	a, b := tb.members[0], tb.members[1]
	tb.gather(a)
	ctx, cancel := context.WithCancelCause(tb.ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		b.m, b.err = b.group.JoinGroup(ctx, b.request())
	}()
	a.awaitRebalance() // b is admitted, and its join waits for a
	cancel(stoppedError{})
	<-done
	if !errors.Is(b.err, store.ErrUnknown) || !errors.Is(b.err, stoppedError{}) {
		t.Fatalf("a join that was given up: error %v, want ErrUnknown and the cause", b.err)
	}
	if b.m.ID == "" {
		t.Fatal("a join that was given up, by a member that is admitted: no ID")
	}
	id := b.m.ID
	tb.together(a, b)
	if b.m.ID != id {
		t.Fatalf("joined as %q, want %q", b.m.ID, id)
	}
}

func groupRefuse[S store.Group](t *testing.T, _ context.Context, s S) (all calls, unchanged func()) {
	tb := sit(t, func(*testing.T) func(*testing.T) S { return func(*testing.T) S { return s } }, "a")
	a := tb.members[0]
	tb.gather(a)
	return calls{
		"join":      func(ctx context.Context) error { _, err := s.JoinGroup(ctx, a.request()); return err },
		"sync":      func(ctx context.Context) error { _, err := s.SyncGroup(ctx, a.m.Seat, nil); return err },
		"heartbeat": func(ctx context.Context) error { return s.Heartbeat(ctx, a.m.Seat) },
		"leave":     func(ctx context.Context) error { return s.LeaveGroup(ctx, a.m.ID) },
	}, a.mustBeat
}

// groupLeft holds for stores on which another process can leave in place of a member.
func groupLeft[S store.Group](t *testing.T, open Open[S]) {
	tb := sit(t, open, "a", "b")
	tb.gather(tb.members...)
	leader := tb.leader()
	gone := tb.others(leader)[0]
	endable, ok := gone.group.(store.EndableGroup)
	ender, ok2 := leader.group.(store.SessionEnder)
	if !ok || !ok2 {
		return // it has no such ability
	}
	key := endable.EndPlace(gone.m.ID).Text
	for range 2 {
		endBy(t, tb.ctx, ender, key)
	}
	wantError(t, "heartbeat after its place was ended", gone.group.Heartbeat(tb.ctx, gone.m.Seat), store.ErrSession)
	leader.awaitRebalance()
	gone.m = store.Membership{}
	tb.gather(leader, gone)
	endBy(t, tb.ctx, ender, key) // late
	if err := gone.group.Heartbeat(tb.ctx, gone.m.Seat); err != nil {
		t.Errorf("heartbeat of a later place: %v", err)
	}
}
