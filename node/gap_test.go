package node

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/virtual"
	"github.com/rota-run/rota/journal"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store/memory"
	"github.com/rota-run/rota/store/storetest"
	"github.com/rota-run/rota/work"
)

// gapTTL is short against the outages below.
const gapTTL = 4 * time.Second

// cut makes a member on a store that answers nothing while the flag is set.
func cut(t *testing.T, s *memory.Server, name string, away *atomic.Bool) *bundle {
	t.Helper()
	return start(t, s, name, func(c *Config) {
		inner := s.Open()
		t.Cleanup(func() { inner.Close() })
		c.TTL = gapTTL
		c.Store = storetest.NewFaulty(inner, func(storetest.Call) storetest.Outcome {
			if away.Load() {
				return storetest.Refused
			}
			return storetest.Pass
		})
	})
}

// stays submits x, and waits until it runs.
func (b *bundle) stays() {
	b.t.Helper()
	b.submit("x", cluster.TaskSpec{Type: "stay"})
	await(b.t, "x runs", func() bool { return b.Status().Work.Counts.Running == 1 })
}

// gap waits for the first record of a kind, which must have a gap of this length.
func (b *bundle) gap(kind journal.Kind, least, most time.Duration) journal.Record {
	b.t.Helper()
	await(b.t, string(kind)+" is journaled", func() bool { return len(b.records(kind)) > 0 })
	r := b.records(kind)[0]
	if r.GapMS == nil || *r.GapMS < least.Milliseconds() || *r.GapMS > most.Milliseconds() {
		b.t.Errorf("got %s, want a gap of %v to %v", r.Line(), least, most)
	}
	return r
}

// A member that has not been heard of for a while ran nothing for all we know: its silence is part of the gap, not only what came after its removal.
func TestTheGapOfAMoveHasTheSilenceBeforeIt(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		var away atomic.Bool
		s := memory.New()
		b := cut(t, s, "b", &away)
		b.stays()
		a := start(t, s, "a", func(c *Config) { c.TTL = gapTTL })
		time.Sleep(3 * gapTTL) // waits: in virtual time, so that a has seen b alive
		away.Store(true)
		began := time.Now()
		await(t, "a runs it", func() bool { return a.Status().Work.Counts.Running == 1 })
		took := time.Since(began)
		if r := a.gap(journal.Moved, took-100*time.Millisecond, took+gapTTL/2); !strings.Contains(r.Cause, "silent for") {
			t.Errorf("got %+v", r)
		}
		if longest := a.tally.read().longest; longest < gapTTL {
			t.Errorf("the metric says %v", longest)
		}
		away.Store(false)
	})
}

// Where the store is away nobody runs a task, though nothing moves.
func TestAnOutageOfTheStoreIsAGap(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		const outage = 14 * time.Second
		var away atomic.Bool
		b := cut(t, memory.New(), "b", &away)
		b.stays()
		away.Store(true)
		await(t, "it stops", func() bool { return b.Status().Work.Counts.Running == 0 })
		stopped := time.Now()
		time.Sleep(outage - gapTTL) // waits: in virtual time
		away.Store(false)
		await(t, "b runs it again", func() bool { return b.Status().Work.Counts.Running == 1 })
		want := time.Since(stopped)
		if r := b.gap(journal.Resumed, want-100*time.Millisecond, want+100*time.Millisecond); r.Partition != "x" {
			t.Errorf("got %+v", r)
		}
		if lost, back := len(b.records(journal.StoreLost)), len(b.records(journal.StoreBack)); lost != 1 || back != 1 {
			t.Errorf("one outage is %d store-lost and %d store-back", lost, back)
		}
	})
}

// What is held for a member that does not come back is not run meanwhile: the gap is from its leave, also by the clock of the member that takes its task over.
func TestAHoldThatEndsIsAGap(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		const hold = 10 * time.Second
		s := memory.New()
		holds := func(c *Config) { c.Hold = hold }
		b := start(t, s, "b", holds)
		b.stays()
		a := start(t, s, "a", holds)
		b.leave()
		a.gap(journal.Moved, hold, hold+longTTL)
	})
}

// While no member was there nobody could measure: the gap is unknown, and at least what the one that came has seen of it. Nothing is held then, since nobody could
// end it.
func TestTheGapWhileNobodyWasThereIsUnknown(t *testing.T) {
	for _, name := range []string{"a", "b"} { // the same member again, and another one
		t.Run(name, func(t *testing.T) {
			virtual.Test(t, func(t *testing.T) { nobodyWasThere(t, name) })
		})
	}
}

func nobodyWasThere(t *testing.T, name string) {
	s := memory.New()
	a := start(t, s, "a", func(c *Config) { c.Hold = time.Minute })
	a.stays()
	a.leave()
	time.Sleep(21 * time.Second) // waits: in virtual time
	began := time.Now()
	b := start(t, s, name, nil)
	kind := journal.Moved
	if name == "a" {
		kind = journal.Resumed
	}
	await(t, "it is told", func() bool { return len(b.records(kind)) > 0 })
	if took := time.Since(began); took > longTTL {
		t.Errorf("it waited for %v", took)
	}
	if r := b.records(kind)[0]; r.GapMS != nil || r.GapAtLeastMS == nil || !strings.Contains(r.Line(), "gap unknown, at least ") {
		t.Errorf("got %s", r.Line())
	}
	if sum := b.tally.read().gap; sum.Count != 0 {
		t.Errorf("the metric has %+v", sum)
	}
}

// A task that nobody may take waits: the gap is from its stop, whatever lies between.
func TestTheTimeThatATaskWaitsIsAGap(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		const waits = 31 * time.Second
		s := memory.New()
		a := start(t, s, "a", nil)
		a.stays()
		b := start(t, s, "b", nil)
		drain := func(on bool) {
			t.Helper()
			if r, err := b.Propose(t.Context(), cluster.DrainMember{Member: "b", On: on}); err != nil || !r[0].Accepted {
				t.Fatal(r, err)
			}
		}
		drain(true)
		a.leave()
		time.Sleep(waits) // waits: in virtual time
		drain(false)
		b.gap(journal.Moved, waits, waits+time.Second)
	})
}

// A record of a member that is gone is of that member, whoever wrote it; the end of a job has one record.
func TestTheJournalSaysWhomItHappenedTo(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		var away atomic.Bool
		s := memory.New()
		a := start(t, s, "a", func(c *Config) { c.TTL = gapTTL })
		b := cut(t, s, "b", &away)
		for _, job := range []string{"x", "y"} {
			a.submit(job, cluster.TaskSpec{Type: "end", Spread: cluster.SpreadPartitioned, Partitions: []string{"1", "2", "3", "4"}})
		}
		jobs := func() (out []string) {
			for _, r := range a.records(journal.JobEnded) {
				out = append(out, r.Line())
			}
			slices.Sort(out)
			return out
		}
		await(t, "both jobs have ended", func() bool { return len(jobs()) >= 2 })
		time.Sleep(time.Minute) // waits: in virtual time, for one too many
		if want := []string{"x  the job is completed", "y  the job is completed"}; !slices.Equal(jobs(), want) {
			t.Errorf("got %q, want %q", jobs(), want)
		}
		away.Store(true)
		await(t, "b is removed", func() bool { return len(a.records(journal.MemberLeft)) > 0 })
		if r := a.records(journal.MemberLeft)[0]; r.Member != "b" || r.By != "a" || r.Message != "b was removed" {
			t.Errorf("got %+v", r)
		}
		away.Store(false)
		await(t, "b knows it", func() bool { return len(b.records(journal.MemberLeft)) > 1 })
		if r := b.records(journal.MemberLeft)[1]; r.Member != "b" || r.Message != "b found itself removed" {
			t.Errorf("got %+v", r)
		}
	})
}

// One entry may end several jobs: each end has its record.
func TestTheEndsOfOneEntryAreJournaled(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		a := start(t, memory.New(), "a", func(c *Config) {
			c.Types["gate"] = work.Type{Name: "gate", New: func(work.Definition) (work.Runner, error) {
				return work.RunnerFunc(func(context.Context, *work.Grant) error { <-gate; return nil }), nil
			}}
		})
		const jobs = 24
		together := func(ended int) bool {
			for i := range jobs {
				a.submit(fmt.Sprint("x", ended+i), cluster.TaskSpec{Type: "gate"})
			}
			await(t, "all run", func() bool { return a.Status().Work.Counts.Running == jobs })
			for range jobs {
				gate <- struct{}{}
			}
			await(t, "all ends are journaled", func() bool { return len(a.records(journal.JobEnded)) == ended+jobs })
			entries := map[cluster.Index]bool{}
			for i := range jobs {
				j, _ := a.Value().Job(cluster.JobID(fmt.Sprint("x", ended+i)))
				entries[j.SpecIndex] = true
			}
			return len(entries) < jobs
		}
		for ended := 0; !together(ended); ended += jobs {
			if ended == 20*jobs {
				t.Fatal("no entry has ended two jobs")
			}
		}
	})
}

// What is held for a restart is not run meanwhile.
func TestARestartThatHoldsIsAGap(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		s := memory.New()
		hold := func(c *Config) { c.Hold = time.Minute }
		start(t, s, "a", hold)
		b := start(t, s, "b", hold)
		b.submit("x", cluster.TaskSpec{Type: "stay", Pin: "b"})
		await(t, "b runs it", func() bool { return b.Status().Work.Counts.Running == 1 })
		b.leave()
		time.Sleep(7 * time.Second) // waits: in virtual time
		b = start(t, s, "b", hold)
		b.gap(journal.Resumed, 7*time.Second, 9*time.Second)
		if moved := b.records(journal.Moved); len(moved) != 0 {
			t.Errorf("got %+v", moved)
		}
	})
}

// A process that was suspended ran nothing: its clock has gone on, and none of its timers.
func TestASuspensionIsAGap(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		var jump atomic.Int64
		clock := protocol.NewProcessClock()
		a := start(t, memory.New(), "a", func(c *Config) {
			c.Clock = func() protocol.Instant { return clock() + protocol.Instant(jump.Load()) }
		})
		a.stays()
		for _, c := range []struct {
			kind journal.Kind
			d    time.Duration
		}{{journal.Suspended, 4 * time.Second}, {journal.Resumed, 3 * longTTL}} {
			jump.Add(int64(c.d))
			a.gap(c.kind, c.d, c.d+3*time.Second)
		}
	})
}

// Who had a partition before this process looked for the first time may have stopped at any time: how long nobody ran it is not known.
func TestWhatWasBeforeTheFirstLookIsUnknown(t *testing.T) {
	t.Parallel()
	var a absence
	a.look(valueOf(t, cluster.PrepareJoin{Member: "self", Heartbeat: "p"}), "self", protocol.Instant(time.Second))
	for _, from := range []cluster.MemberID{"self", "gone before"} {
		if d, known, handed := a.before("x", from, "self", protocol.Instant(4*time.Second)); d != 3*time.Second || known || handed {
			t.Errorf("from %s: %v, known %t, handed %t", from, d, known, handed)
		}
	}
}
