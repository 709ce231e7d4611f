package supervisor_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/virtual"
	"github.com/rota-run/rota/internal/work/supervisor"
	"github.com/rota-run/rota/journal"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/work"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bed runs a supervisor inside a synctest bubble.
type bed struct {
	t       *testing.T
	s       *supervisor.Supervisor
	assign  chan protocol.Assignment
	end     context.CancelCauseFunc
	done    chan error
	start   time.Time
	version uint64

	mu      sync.Mutex
	offset  time.Duration // the machine was suspended for so long
	records []journal.Record
	reports []protocol.Report
	told    uint64
	rounds  []supervisor.RoundDone
	stopped []supervisor.RunStopped
}

func newBed(t *testing.T, types work.Types, change func(*supervisor.Config)) *bed {
	t.Helper()
	b := &bed{t: t, assign: make(chan protocol.Assignment, 1), done: make(chan error, 1), start: time.Now()}
	c := supervisor.Config{
		Types: types, Member: "m1", Clock: b.clock, Grace: 10 * time.Second,
		Journal: func(r journal.Record) { b.locked(func() { b.records = append(b.records, r) }) },
		Report:  func(v uint64, r []protocol.Report) { b.locked(func() { b.told, b.reports = v, r }) },
		Events: supervisor.Events{
			RoundDone: func(r supervisor.RoundDone) { b.locked(func() { b.rounds = append(b.rounds, r) }) },
			Stopped:   func(r supervisor.RunStopped) { b.locked(func() { b.stopped = append(b.stopped, r) }) },
		},
	}
	if change != nil {
		change(&c)
	}
	s := must.Get(supervisor.New(c))(t)
	b.s = s
	ctx, end := context.WithCancelCause(context.Background())
	b.end = end
	go func() {
		defer close(b.done)
		b.done <- s.Run(ctx, b.assign)
	}()
	t.Cleanup(func() { must.Succeed(t, b.finish()) })
	return b
}

func (b *bed) locked(f func()) { b.mu.Lock(); defer b.mu.Unlock(); f() }

func (b *bed) clock() protocol.Instant {
	b.mu.Lock()
	defer b.mu.Unlock()
	return protocol.Instant(time.Since(b.start) + b.offset + time.Hour)
}

// give assigns grants under a lease, and lets everything settle.
func (b *bed) give(lease time.Duration, grants ...*protocol.Grant) {
	b.version++
	b.lease(lease, grants...)
}

// send assigns grants for good without waiting, for use outside a bubble.
func (b *bed) send(grants ...*protocol.Grant) {
	b.version++
	b.assign <- protocol.Assignment{Grants: grants, Version: b.version, ValidUntil: b.clock().Add(time.Hour)}
}

// lease says the same again.
func (b *bed) lease(lease time.Duration, grants ...*protocol.Grant) {
	b.assign <- protocol.Assignment{Grants: grants, Version: b.version, ValidUntil: b.clock().Add(lease)}
	synctest.Wait()
}

// finish ends the supervisor and returns what Run returned, the first time. A test that does not end it does so at its
// end.
func (b *bed) finish() error {
	b.end(errors.New("test over"))
	return <-b.done
}

func grant(p string, token cluster.Token, typ, definition string) *protocol.Grant {
	return &protocol.Grant{Partition: cluster.PartitionID(p), Token: token,
		Spec: &cluster.TaskSpec{Type: typ, Definition: []byte(definition)}}
}

func (b *bed) runState(p string) string {
	for _, r := range b.s.Status().Runs {
		if r.Partition == cluster.PartitionID(p) {
			return r.State
		}
	}
	return "absent"
}

func typeOf(periodic bool, f work.RunnerFunc) work.Types {
	return work.Types{"x": {Name: "x", Periodic: periodic,
		New: func(work.Definition) (work.Runner, error) { return f, nil }}}
}

// untilEnd is a run that ends with its ctx.
func untilEnd(ctx context.Context, _ *work.Grant) error { <-ctx.Done(); return nil }

// A time limit of thousands of years is none that anybody sees.
func TestALimitOfManyYears(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		b := newBed(t, typeOf(false, untilEnd), nil)
		b.give(1000*time.Hour, grant("a", 1, "x", `{"timeout_ms":9223372036854775807}`),
			grant("b", 1, "x", `{"timeout_ms":18446744073710}`))
		time.Sleep(time.Hour)
		synctest.Wait()
		if b.runState("a") != "running" || b.runState("b") != "running" {
			t.Errorf("a is %s, b is %s: %+v", b.runState("a"), b.runState("b"), b.stopped)
		}
	})
}

func TestLongRunLives(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		b := newBed(t, typeOf(false, untilEnd), nil)
		b.give(time.Hour, grant("a", 1, "x", ""), grant("b", 1, "x", ""))
		if got := fmt.Sprintln(b.runState("a"), b.runState("b"), len(b.reports),
			b.told); got != "running running 2 1\n" {
			t.Fatalf("after the first assignment: %s", got)
		}
		b.give(time.Hour, grant("b", 1, "x", ""))
		if b.runState("a") != "absent" || b.runState("b") != "running" || b.told != 2 || len(b.reports) != 1 {
			t.Fatalf("after a was taken away: %+v", b.s.Status())
		}
		if len(b.stopped) != 1 || !errors.Is(b.stopped[0].Cause, work.CauseMoved) ||
			b.stopped[0].Outcome != supervisor.Stopped {
			t.Fatalf("stopped: %+v", b.stopped)
		}
		must.Succeed(t, b.finish())
		if last := b.stopped[len(b.stopped)-1]; last.Partition != "b" || !errors.Is(last.Cause, work.CauseShutdown) {
			t.Fatalf("at the end: %+v", b.stopped)
		}
	})
}
