package storetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/rota-run/rota/store"
)

// Open makes an empty store and returns a function that opens a handle on it.
type Open[S any] func(t *testing.T) func(t *testing.T) S

// patience bounds what a suite waits for. It is long because it is met only by a failure.
// Only a test of the suites changes it.
var patience = 60 * time.Second

// test is one rule at work, with the context of its calls.
type test struct {
	*testing.T
	ctx    context.Context
	strays int // errors that did not wrap the cause of a ctx that had ended
}

func newTest(t *testing.T, d time.Duration) *test {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return &test{T: t, ctx: ctx}
}

// rule is one named rule of a contract; open opens another handle on a store that is its own.
type rule[C any] struct {
	name string
	run  func(t *test, open func() C)
}

// runRules runs the rules of a contract over a store that keeps it.
func runRules[S, C any](t *testing.T, open Open[S], rules ...rule[C]) {
	t.Helper()
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) { t.Parallel(); r.play(t, as[S, C](open)) })
	}
}

func (r rule[C]) play(t *testing.T, open Open[C]) {
	t.Helper()
	handle := open(t)
	r.run(newTest(t, patience), func() C { return handle(t) })
}

// as opens a store as the contract that is tested.
func as[S, C any](open Open[S]) Open[C] {
	return func(t *testing.T) func(*testing.T) C {
		handle := open(t)
		return func(t *testing.T) C { return any(handle(t)).(C) }
	}
}

// calls are those of a contract, by name.
type calls map[string]func(context.Context) error

// refusing are rules, and two more of all calls of a contract: one whose ctx has ended before it, and one of a closed
// handle, say so and change nothing. prepare makes a handle ready for its calls; unchanged may be nil.
func refusing[C any](prepare func(t *test, s C) (all calls, unchanged func()), rules ...rule[C]) []rule[C] {
	return append(rules, rule[C]{"cancelled before the call", func(t *test, open func() C) {
		all, unchanged := prepare(t, open())
		for name, call := range all { // order-free: each is judged alone
			t.fails(name, call(cancelled()), stoppedError{})
		}
		if unchanged != nil {
			unchanged()
		}
	}},
		rule[C]{"closed", func(t *test, open func() C) {
			s := open()
			all, _ := prepare(t, s)
			t.close(s)
			t.close(s)
			for name, call := range all { // order-free: each is judged alone
				t.fails(name, call(t.ctx), store.ErrClosed)
			}
		}})
}

// stoppedError is the cause that suites cancel with; it must come back from the call.
type stoppedError struct{}

func (stoppedError) Error() string { return "stopped by the suite" }

// cancelled is a context that has ended before the call.
func cancelled() context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(stoppedError{})
	return ctx
}

// succeed ends the test where a call that only leads to what is tested fails.
func (t *test) succeed(what string, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// fails wants an error, which does not also say that the outcome is unknown.
func (t *test) fails(what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("%s: error %v, want %v", what, err, want)
	}
	if !errors.Is(want, store.ErrUnknown) && errors.Is(err, store.ErrUnknown) {
		t.Fatalf("%s: error %v also says that the outcome is unknown", what, err)
	}
}

// await asks until it is so: what a server does for others may take a moment.
func (t *test) await(what string, ask func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ask(); {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", patience, what)
		}
		time.Sleep(2 * time.Millisecond) // waits: between two looks at a condition; only a failure waits for the end
	}
}

// close closes a handle, which must be a whole store.
func (t *test) close(handle any) {
	t.Helper()
	c, ok := handle.(interface{ Close() error })
	if !ok {
		t.Fatalf("%T has no Close: give the suite the whole store", handle)
	}
	t.succeed("close", c.Close())
}

// errOf is the error of a call that returns something beside it.
func errOf[T any](_ T, err error) error { return err }

func groupAlone(tb *table, a, _ *seated) {
	if a.m.Generation == 0 || a.m.ID == "" || !a.m.Leads() {
		tb.Fatalf("alone: %+v, want an ID, a generation and the lead", a.m)
	}
	a.mustBeat()
	before := a.m
	tb.together(a)
	if a.m.ID != before.ID || a.m.Generation < before.Generation {
		tb.Fatalf("joined again: %+v after %+v", a.m, before)
	}
}

func groupFollowerWaits(tb *table, _, _ *seated) {
	leader, others := tb.led()
	joined, synced := make(chan error, 1), make(chan error, 1)
	go func() { joined <- leader.join() }() // a leader that joins begins a new generation
	others[0].awaitRebalance()
	tb.succeed("the follower joins again", others[0].join())
	tb.succeed("the leader joins again", <-joined)
	leader, others = tb.led()
	go func() { synced <- others[0].sync() }()
	select {
	case err := <-synced:
		tb.Fatalf("the follower's sync returned before the leader's: %v", err)
	case <-time.After(GroupSession / 10):
	}
	tb.succeed("sync of the leader", leader.sync())
	tb.succeed("sync of the follower", <-synced)
	tb.agree(tb.members...)
	tb.succeed("sync of the follower, again, for an answer that was lost", others[0].sync())
	tb.agree(tb.members...)
}

func groupJoinAgain(tb *table, a, b *seated) {
	first, joined := a.m, make(chan struct{})
	go func() { defer close(joined); b.round() }()
	a.awaitRebalance()
	tb.fails("sync while the group forms a generation", a.syncs(a.m.Seat), store.ErrRebalance)
	a.round()
	<-joined
	tb.succeed("a joins again, b joins", errors.Join(a.err, b.err))
	tb.agree(a, b)
	if a.m.ID != first.ID || a.m.Generation <= first.Generation {
		tb.Fatalf("a was %+v, and is %+v: want the same ID and a greater generation", first.Seat, a.m.Seat)
	}
}

func groupLeave(tb *table, _, _ *seated) {
	leader, others := tb.led()
	gone := others[0]
	for range 2 {
		gone.leave()
	}
	gone.isOut("has left")
	leader.awaitRebalance()
	before, old := leader.m.Generation, gone.m.ID
	tb.together(leader)
	if leader.m.Generation <= before {
		tb.Fatalf("generation %d after %d", leader.m.Generation, before)
	}
	gone.m = store.Membership{}
	tb.gather(leader, gone)
	if gone.m.ID == old {
		tb.Fatalf("the ID %q was given again", old)
	}
}

func groupSilent(tb *table, silent, other *seated) {
	silent.mustBeat()
	began := time.Now()
	other.awaitRebalance()
	tb.together(other)
	if d := time.Since(began); d < GroupSession*8/10 {
		tb.Fatalf("a silent member was removed %v after its heartbeat, its session is %v", d, GroupSession)
	}
	silent.isOut("was removed")
	tb.fails("sync of the removed", silent.syncs(silent.m.Seat), store.ErrSession)
	tb.fails("join of the removed with its ID", errOf(silent.group.JoinGroup(tb.ctx, silent.request())),
		store.ErrSession)
	silent.m = store.Membership{}
	tb.gather(other, silent)
}

// groupAbsent has a member that sends heartbeats, and does not join again: the group waits for Rebalance, not longer.
func groupAbsent(tb *table, absent, other *seated) {
	third := tb.members[2]
	absent.mustBeat()
	began, done := time.Now(), make(chan *seated, 2)
	go func() { third.round(); done <- third }()
	other.awaitRebalance()
	go func() { other.round(); done <- other }()
	for waiting := 2; waiting > 0; {
		select {
		case p := <-done:
			tb.succeed(p.name+" joins", p.err)
			waiting--
		case <-time.After(GroupSession / 10):
			if absent.beat() == nil && waiting == 2 {
				tb.Fatal("heartbeat while the group forms a generation: no error")
			}
		}
	}
	if d := time.Since(began); d < GroupRebalance*8/10 {
		tb.Fatalf("the group waited %v for a member, it wants %v", d, GroupRebalance)
	}
	tb.agree(other, third)
	absent.isOut("did not join")
}

// groupGivenUp has a Join that nobody waits for any more: the member may exist, and can join with the ID that the error
// came with.
func groupGivenUp(tb *table, a, b *seated) {
	ctx, cancel := context.WithCancelCause(tb.ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		b.m, b.err = b.group.JoinGroup(ctx, b.request())
	}()
	a.awaitRebalance() // b is admitted, and its join waits for a
	cancel(stoppedError{})
	<-done
	tb.fails("a join that was given up", b.err, store.ErrUnknown)
	if !errors.Is(b.err, stoppedError{}) || b.m.ID == "" {
		tb.Fatalf("a join that was given up, by a member that is admitted: ID %q, %v; want one, and the cause", b.m.ID,
			b.err)
	}
	id := b.m.ID
	tb.together(a, b)
	if b.m.ID != id {
		tb.Fatalf("joined as %q, want %q", b.m.ID, id)
	}
}

// groupLeft holds for stores on which another process can leave in place of a member.
func groupLeft(tb *table, _, _ *seated) {
	leader, others := tb.led()
	gone := others[0]
	endable, ok := gone.group.(store.EndableGroup)
	ender, ok2 := leader.group.(store.SessionEnder)
	if !ok || !ok2 {
		return // it has no such ability
	}
	key := endable.EndPlace(gone.m.ID).Text
	end := func() { tb.succeed("end a place of another handle", ender.EndSession(tb.ctx, key)) }
	end()
	end()
	gone.isOut("has been ended")
	leader.awaitRebalance()
	gone.m = store.Membership{}
	tb.gather(leader, gone)
	end() // late
	gone.mustBeat()
}
