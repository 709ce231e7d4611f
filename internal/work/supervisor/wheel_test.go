package supervisor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/virtual"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/work"
)

// TestWheelAgainstList compares the wheel with a plain list of timers.
func TestWheelAgainstList(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		now := protocol.Instant(rapid.Int64Range(0, int64(100*24*time.Hour)).Draw(t, "start"))
		w := newWheel[int](now)
		timers := make([]timer[int], 12)
		due := map[int]uint64{} // armed: the tick
		for i := range timers {
			timers[i].value = i
		}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			i := rapid.IntRange(0, len(timers)-1).Draw(t, "timer")
			switch rapid.IntRange(0, 3).Draw(t, "do") {
			case 0, 1:
				span := rapid.SampledFrom([]time.Duration{time.Second, time.Minute, 100 * time.Hour,
					30000 * time.Hour}).Draw(t, "span")
				at := now + protocol.Instant(rapid.Int64Range(-int64(time.Second), int64(span)).Draw(t, "at"))
				w.add(&timers[i], at)
				due[i] = max((uint64(max(at, 0))+uint64(wheelTick)-1)/uint64(wheelTick), uint64(now)/uint64(wheelTick)+
					1)
			case 2:
				w.remove(&timers[i])
				delete(due, i)
			case 3:
				now += protocol.Instant(rapid.Int64Range(0, int64(200*time.Hour)).Draw(t, "pass"))
				goal := uint64(now) / uint64(wheelTick)
				last := uint64(0)
				w.advance(now, func(tm *timer[int]) {
					tick, armed := due[tm.value]
					if !armed || tick > goal || tick < last || tm.tick != tick {
						t.Fatalf("timer %d fired for tick %d; want %d (armed %v), now %d, last %d", tm.value, tm.tick,
							tick, armed, goal, last)
					}
					last = tick
					delete(due, tm.value)
				})
				for i, tick := range due {
					if tick <= goal {
						t.Fatalf("timer %d was due at tick %d and has not fired at %d", i, tick, goal)
					}
				}
			}
			if w.size != len(due) {
				t.Fatalf("the wheel holds %d timers, want %d", w.size, len(due))
			}
			if next, ok := w.next(); ok != (len(due) > 0) || ok &&
				uint64(next)/uint64(wheelTick) > slices.Min(values(due)) {
				t.Fatalf("next is %v, %v, with %v armed", next, ok, due)
			}
		}
	})
}

func values(m map[int]uint64) []uint64 {
	var out []uint64
	for _, v := range m {
		out = append(out, v)
	}
	return out
}

func TestWheelMayBeChangedWhileFiring(t *testing.T) {
	t.Parallel()
	w := newWheel[string](0)
	a, b := &timer[string]{value: "a"}, &timer[string]{value: "b"}
	at := protocol.Instant(10 * wheelTick)
	w.add(a, at)
	w.add(b, at)
	var fired []string
	w.advance(at.Add(20*wheelTick), func(t *timer[string]) {
		fired = append(fired, t.value)
		w.remove(b)
		if len(fired) < 3 {
			w.add(a, at) // late already: fires at the next tick
		}
	})
	if !slices.Equal(fired, []string{"a", "a", "a"}) || w.size != 0 {
		t.Fatalf("fired %v, %d left", fired, w.size)
	}
}

func TestNextDue(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		due, now protocol.Instant
		next     protocol.Instant
		skipped  int64
	}{
		{100, 99, 110, 0}, {100, 100, 110, 0}, {100, 109, 110, 0}, {100, 110, 120, 1}, {100, 145, 150, 4},
	} {
		if next, skipped := nextDue(c.due, 10, c.now); next != c.next || skipped != c.skipped {
			t.Errorf("nextDue(%d, 10, %d) = %d, %d; want %d, %d", c.due, c.now, next, skipped, c.next, c.skipped)
		}
	}
}

// TestFirstRoundsAreSpread wants every tenth of the period to get about its tenth of 10,000 partitions.
func TestFirstRoundsAreSpread(t *testing.T) {
	t.Parallel()
	var tenths [10]int
	for i := range 10_000 {
		due := firstDue(1000, hashID(partitionNumber(i)), 10*time.Second)
		tenths[(due-1000)/protocol.Instant(time.Second)]++
	}
	for i, n := range tenths {
		if n < 800 || n > 1200 {
			t.Errorf("tenth %d has %d of 10,000", i, n)
		}
	}
}

func TestBackOff(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := work.Retry{MinMS: rapid.Int64().Draw(t, "min"), MaxMS: rapid.Int64().Draw(t, "max")}
		chance := rapid.Uint64().Draw(t, "chance")
		n := rapid.Int64().Draw(t, "failures")
		d := backOff(r, n, chance)
		if d < 0 || d > retryMax(r) || n > 0 && d < min(retryMin(r), retryMax(r))/2 {
			t.Fatalf("%+v after %d failures waits %v", r, n, d)
		}
	})
	want := []time.Duration{0, time.Second, 2 * time.Second, 4 * time.Second}
	for n, w := range want {
		if d := backOff(work.Retry{}, int64(n), 0); d != w {
			t.Errorf("after %d failures %v, want %v", n, d, w)
		}
	}
	if d := backOff(work.Retry{MinMS: 600_000}, 1, 0); d != 10*time.Minute { // the longest pause is never below the first
		t.Errorf("a first pause of ten minutes is %v", d)
	}
	if d := backOff(work.Retry{MaxMS: 100}, 1, 0); d != 100*time.Millisecond {
		t.Errorf("a longest pause of 100 ms is %v", d)
	}
	if got := (&pacer{lanes: map[string]*lane{}}).lane(&work.Type{Name: "x"}).max; got != defaultConcurrent {
		t.Errorf("a type without a limit may have %d rounds at once", got)
	}
	if d := backOff(work.Retry{MinMS: -9223372036855}, 35, 0); d != DefaultRetryMax { // in nanoseconds it would be a large positive number
		t.Errorf("with a negative minimum %v", d)
	}
}

// A bucket ends with its upper bound, and the one before it does not reach into it.
func TestBuckets(t *testing.T) {
	t.Parallel()
	for us := int64(1); us > 0 && us < 1<<62; us *= 3 {
		if b := bucket(us); upper(b) < us || b > 0 && upper(b-1) >= us {
			t.Fatalf("%d µs is in bucket %d with the upper bound %d", us, b, upper(b))
		}
	}
}

func TestErrorRow(t *testing.T) {
	t.Parallel()
	var r errorRow
	var at []time.Duration
	for now := time.Duration(0); now <= 4*time.Hour; now += 10 * time.Second {
		if r.failure(protocol.Instant(now), "down") != "" {
			at = append(at, now)
		}
	}
	m := time.Minute
	want := []time.Duration{0, m, 3 * m, 7 * m, 15 * m, 31 * m, 63 * m, 123 * m, 183 * m}
	if !slices.Equal(at, want) {
		t.Fatalf("journaled at %v, want %v", at, want)
	}
	if got := r.success(protocol.Instant(4 * time.Hour)); got != "well again after 1441 failed rounds" {
		t.Fatal(got)
	}
}

// A check that fails and recovers every few seconds makes at most two records a minute, and none of its failures is
// lost in silence.
func TestErrorsOfARowThatFlaps(t *testing.T) {
	t.Parallel()
	var r errorRow
	var got []string
	note := func(now time.Duration, text string) {
		if text != "" {
			got = append(got, fmt.Sprint(now, " ", text))
		}
	}
	for now := 10 * time.Second; now <= 90*time.Second; now += 20 * time.Second {
		note(now, r.failure(protocol.Instant(now), "down"))
		note(now+10*time.Second, r.success(protocol.Instant(now+10*time.Second)))
	}
	note(3*time.Minute, r.failure(protocol.Instant(3*time.Minute), "down"))
	want := []string{
		"10s down", "20s well again after 1 failed round", "1m20s well again after 3 failed rounds",
		"3m0s down (failed rounds: 1 in a row, 2 since the last record)",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	var short errorRow
	short.failure(1, "down")
	short.success(2)
	short.failure(3, "down")
	if text := short.success(4); text != "" || short.over(4) {
		t.Errorf("%q at once", text)
	}
	late := protocol.Instant(time.Hour)
	if text := short.success(late); text != "well again after 1 failed round" || short.over(late) ||
		!short.over(late+protocol.Instant(firstRepeat)) {
		t.Errorf("what was left out is told as %q", text)
	}
}

func partitionNumber(i int) cluster.PartitionID {
	return cluster.PartitionID(fmt.Sprintf("checks#%d", i))
}

// TestStoppedRunsLeaveTheWheel: one is stopped in the middle of a round, one between two.
func TestStoppedRunsLeaveTheWheel(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		start := time.Now()
		s, err := New(Config{Member: "m",
			Clock: func() protocol.Instant { return protocol.Instant(1 + time.Since(start)) },
			Types: work.Types{"x": {Periodic: true, New: func(work.Definition) (work.Runner, error) {
				return work.RunnerFunc(func(ctx context.Context, _ *work.Grant) error { <-ctx.Done(); return nil }),
					nil
			}}}})
		must.Succeed(t, err)
		ctx, end := context.WithCancel(t.Context())
		assignments, done := make(chan protocol.Assignment), make(chan error, 1)
		go func() { done <- s.Run(ctx, assignments) }()
		give := func(version uint64, grants ...*protocol.Grant) int {
			assignments <- protocol.Assignment{Version: version, ValidUntil: protocol.Instant(time.Hour),
				Grants: grants}
			time.Sleep(5 * time.Second)
			synctest.Wait()
			return s.pacer.wheel.size
		}
		every := func(p, d string) *protocol.Grant {
			return &protocol.Grant{Partition: cluster.PartitionID(p), Token: 1,
				Spec: &cluster.TaskSpec{Type: "x", Definition: []byte(d)}}
		}
		if n := give(1, every("a", `{"every_ms":100}`), every("b", `{"cron":"0 0 1 1 *"}`)); n != 2 {
			t.Fatalf("%d timers of 2 runs", n)
		}
		if n := give(2); n != 0 {
			t.Fatalf("%d timers are left", n)
		}
		end()
		must.Succeed(t, <-done)
	})
}
