package lock_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/virtual"
	"github.com/rota-run/rota/internal/store/faults"
	"github.com/rota-run/rota/lock"
	"github.com/rota-run/rota/store/memory"
)

// TestGivenUpInDoubt: one waits whose writes have unknown outcomes, and gives up. Nothing of it is left, and nothing comes later.
func TestGivenUpInDoubt(t *testing.T) {
	for _, script := range []string{
		"late put key=locks/x/table times=1",
		"lose-reply put key=locks/x/table times=1",
		"lose-request put key=locks/x/table times=1",
		"late put key=locks/x/table times=3",
		"late put key=locks/x/table after=1 times=1",
		"lose-reply put key=locks/x/table after=1 times=1",
		"refuse put key=locks/x/table after=1 times=2",
		"hold put key=locks/x/table times=1",
		"late put key=lock-pulse/*/alive times=1\nlose-reply put key=locks/x/table times=1",
		"late sessionput times=1\nlate put key=locks/x/table times=1",
	} {
		t.Run(script, func(t *testing.T) { virtual.Test(t, func(t *testing.T) { giveUpInDoubt(t, script) }) })
	}
}

func giveUpInDoubt(t *testing.T, script string) {
	t.Helper()
	plan, err := faults.Script(script)
	must.Succeed(t, err)
	server, ctx := memory.New(), deadline(t)
	first := client(t, server.Open(), lock.Options{}).Lock("x")
	held, err := first.Acquire(ctx)
	must.Succeed(t, err)
	faulty := faults.NewFaulty(server.Open(), plan)
	t.Cleanup(faulty.Release)
	c := client(t, faulty, lock.Options{})
	waiting, cancel := context.WithCancelCause(ctx)
	ended := make(chan error, 1)
	go func() {
		_, err := c.Lock("x").Acquire(waiting)
		ended <- err
	}()
	wantFault(t, faulty, first)
	why := errors.New("given up")
	cancel(why)
	if err := <-ended; !errors.Is(err, why) {
		t.Fatalf("acquire: %v", err)
	}
	if err := c.Close(ctx); err != nil { // returns when everything is cleared up
		t.Fatal(err)
	}
	for _, when := range []string{"before", "after"} {
		if s, err := first.State(ctx); err != nil || len(s.Holders) != 1 || len(s.Waiting) != 0 {
			t.Fatalf("%s the late writes came: %+v, %v", when, s, err)
		}
		faulty.Release()
	}
	must.Succeed(t, held.Release(ctx))
	if s, err := first.State(ctx); err != nil || len(s.Holders) != 0 {
		t.Fatalf("after the release: %+v, %v", s, err)
	}
}

// wantFault returns when all calls of the claim have ended or wait, and wants that one has failed, or that the claim is in the line.
func wantFault(t *testing.T, faulty *faults.Faulty, l lock.Lock) {
	t.Helper()
	synctest.Wait()
	for _, o := range []faults.Outcome{faults.Refused, faults.LostRequest, faults.LostReply, faults.Late, faults.Held} {
		if faulty.Count(o) > 0 {
			return
		}
	}
	if s, err := l.State(deadline(t)); err != nil || len(s.Waiting) != 1 {
		t.Fatalf("no call has failed, and the line is %+v, %v", s, err)
	}
}

// TestReleaseInDoubt: releasing is certain when it returns nil, whatever the answers were.
func TestReleaseInDoubt(t *testing.T) {
	for _, script := range []string{
		"lose-reply put key=locks/x/table after=1 times=1", "lose-request put key=locks/x/table after=1 times=2", "late put key=locks/x/table after=1 times=1",
		"refuse put key=locks/x/table after=1 times=2", "refuse get key=locks/x/table after=1 times=2\nlose-reply put key=locks/x/table after=1 times=1",
	} {
		t.Run(script, func(t *testing.T) { virtual.Test(t, func(t *testing.T) { releaseInDoubt(t, script) }) })
	}
}

func releaseInDoubt(t *testing.T, script string) {
	t.Helper()
	plan, err := faults.Script(script)
	must.Succeed(t, err)
	server, ctx := memory.New(), deadline(t)
	faulty := faults.NewFaulty(server.Open(), plan)
	l := client(t, faulty, lock.Options{}).Lock("x")
	held, err := l.Acquire(ctx)
	must.Succeed(t, err)
	must.Succeed(t, held.Release(ctx))
	faulty.Release()
	next, err := client(t, server.Open(), lock.Options{}).Lock("x").TryAcquire(ctx)
	if err != nil || next.Token() != held.Token()+1 {
		t.Fatalf("%v, %v", next, err)
	}
	if err := held.Release(ctx); err != nil || next.Err() != nil {
		t.Errorf("released again: %v, %v", err, next.Err())
	}
}

// TestAReleaseGoesOn: one that could not be confirmed in time is made in the background, while the heartbeat of its process lives on.
func TestAReleaseGoesOn(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		server := memory.New()
		faulty := faults.NewFaulty(server.Open(), nil)
		held := acquire(t, client(t, faulty, lock.Options{TTL: time.Hour}).Lock("x"))
		faulty.Away(true)
		ctx, cancel := context.WithTimeout(deadline(t), time.Second)
		defer cancel()
		if err := held.Release(ctx); err == nil {
			t.Error("a release that nobody has heard of succeeds")
		}
		faulty.Away(false)
		acquire(t, client(t, server.Open(), lock.Options{}).Lock("x"))
	})
}
