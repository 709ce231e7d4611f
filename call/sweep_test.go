package call

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/values"
	"github.com/rota-run/rota/internal/proof/virtual"
	planned "github.com/rota-run/rota/internal/store/faults"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
)

// alone is a cluster of one member, whose incarnation is 1.
func alone(t *testing.T, m cluster.MemberID) cluster.Value {
	t.Helper()
	return values.After(t, cluster.Value{}, cluster.PrepareJoin{Member: m, Slots: 2, Weight: 100, Heartbeat: "pulse/m"})
}

// sweepingWorker has a clock that stands still but when the test moves it.
func sweepingWorker(t *testing.T, docs store.Docs) (*sweeper, *atomic.Int64) {
	t.Helper()
	v, now := alone(t, "m"), new(atomic.Int64)
	w, err := NewWorker(RunnerConfig{
		Member: "m", Docs: docs, Slots: func() int64 { return 0 }, Value: func() cluster.Value { return v },
		Tenure: func() (cluster.Incarnation, protocol.Instant) { return 1, 1 << 60 },
		Clock:  func() protocol.Instant { return protocol.Instant(now.Load()) },
	})
	must.Succeed(t, err)
	return newSweeper(w), now
}

func put(t *testing.T, docs store.Docs, key string, r Record, v store.Version) store.Version {
	t.Helper()
	body := must.Get(r.encode())(t)
	next := must.Get(docs.Put(t.Context(), store.Doc{Key: key, Value: body, Version: v}))(t)
	return next
}

func keys(t *testing.T, docs store.Docs) (out []string) {
	t.Helper()
	all := must.Get(docs.List(t.Context(), ""))(t)
	for _, d := range all {
		out = append(out, d.Key)
	}
	return out
}

// What nobody collects goes when it has not changed for the retention, by the sweeper's own clock; what waits or runs
// stays; then the empty page goes.
func TestSweep(t *testing.T) {
	t.Parallel()
	docs := memory.New().Open()
	head := store.Doc{Key: "callpage/q/p", Value: []byte(`{"void":[4]}`)}
	head.Version = must.Get(docs.Put(t.Context(), head))(t)
	key := func(n int) string { return fmt.Sprintf("call/q/p/%03d", n) }
	put(t, docs, key(0), Record{State: Done}, "")
	put(t, docs, key(1), Record{State: Failed}, "")
	waiting := put(t, docs, key(2), Record{State: Queued}, "")
	running := put(t, docs, key(3), Record{State: Running, Runner: &Runner{Member: "m", Incarnation: 1}}, "")
	put(t, docs, key(4), Record{State: Queued}, "") // came late
	faulty := planned.NewFaulty(docs, nil)
	s, now := sweepingWorker(t, faulty)
	step := func(d time.Duration, want int) {
		t.Helper()
		now.Add(int64(d))
		s.sweep(context.Background())
		if got := keys(t, docs); len(got) != want {
			t.Fatalf("after %s: %d documents are left, want %d: %q", time.Duration(now.Load()), len(got), want, got)
		}
	}
	step(0, 6)
	step(59*time.Minute, 6)
	running = put(t, docs, key(3), Record{State: Running, Cancel: true, Runner: &Runner{Member: "m", Incarnation: 1}},
		running)
	step(2*time.Minute, 6) // something has changed: it is seen again
	step(59*time.Minute, 6)
	must.Succeed(t, must.Err(docs.Put(t.Context(), head))) // its client looks after it
	step(2*time.Minute, 6)
	step(59*time.Minute, 6)
	faulty.SetPlan(must.Get(planned.Script("refuse list key=call/*/*/"))(t)) // nothing is forgotten for that
	step(30*time.Second, 6)
	faulty.SetPlan(nil)
	step(30*time.Second, 3)
	if n := s.w.Status().Expired; n != 3 {
		t.Errorf("%d outcomes were counted", n)
	}
	for n, v := range map[int]store.Version{2: waiting, 3: running} {
		must.Succeed(t, docs.Delete(t.Context(), key(n), v))
	}
	step(time.Minute, 1)
	step(9*time.Minute, 1)
	step(time.Minute, 0)
}

// A submission that is made long after its page was opened, as by a process that was suspended, finds its page gone and
// writes it again.
func TestALateSubmissionBringsItsPageBack(t *testing.T) {
	t.Parallel()
	docs := memory.New().Open()
	c := must.Get(NewClient(docs, ClientOptions{Queue: "q"}))(t)
	defer c.Close()
	must.Succeed(t, must.Err(c.Submit(t.Context(), "f", []byte("1"), Options{})))
	p := c.page
	at := p.take(10)
	p.since = p.since.Add(-2 * pageAge)
	head := must.Get(docs.Get(t.Context(), at.head()))(t)
	for _, gone := range []bool{true, false} {
		if gone {
			must.Succeed(t, docs.Delete(t.Context(), head.Key, head.Version))
		}
		if again, err := p.put(t.Context(), p.take(10), []byte("{}")); again || err != nil {
			t.Fatal(again, err)
		}
		now, err := docs.Get(t.Context(), at.head())
		if err != nil || now.Version == head.Version {
			t.Errorf("the page is not looked after: %v", err)
		}
		head = now
	}
	if !p.full(1) {
		t.Error("an old page takes new calls")
	}
	must.Succeed(t, p.void(t.Context(), 1))
	p.remove(t.Context())
	if _, err := docs.Get(t.Context(), at.head()); err != nil {
		t.Errorf("a page to which something may come late is removed: %v", err)
	}
}

// Pages go with their last call, and a page takes no more than its share.
func TestPagesAreRemovedByTheirClient(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		docs := memory.New().Open()
		c := must.Get(NewClient(docs, ClientOptions{Queue: "q", Clock: protocol.NewProcessClock()}))(t)
		var handles []*Handle
		for range 2*pageSize + 3 {
			h := must.Get(c.Submit(t.Context(), "f", []byte("1"), Options{}))(t)
			handles = append(handles, h)
		}
		heads := func() int {
			all := must.Get(docs.List(t.Context(), pagePrefix))(t)
			return len(all)
		}
		if n := heads(); n != 3 {
			t.Fatalf("%d pages", n)
		}
		for i, h := range handles {
			must.Succeed(t, h.Cancel(t.Context()))
			if _, err := h.Wait(t.Context()); err == nil {
				t.Fatal("no error")
			}
			if i == pageSize {
				h.c.wg.Wait() // it follows nothing now, and what was collected is removed
				if n := heads(); n != 2 {
					t.Errorf("%d pages when the first was done", n)
				}
			}
		}
		c.Close()
		if got := keys(t, docs); len(got) > 0 {
			t.Errorf("%q are left", got)
		}
	})
}
