package supervisor_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/virtual"
	"github.com/rota-run/rota/internal/work/supervisor"
	"github.com/rota-run/rota/journal"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/publish"
	"github.com/rota-run/rota/work"
)

// TestSuspendedMemberDoesNothingAfterWaking: only the suspend-aware clock goes on, as when the machine sleeps.
func TestSuspendedMemberDoesNothingAfterWaking(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		var b *bed
		var late atomic.Int64
		var until atomic.Int64
		f := func(context.Context, *work.Grant) error {
			if int64(b.clock()) >= until.Load() {
				late.Add(1)
			}
			return nil
		}
		b = newBed(t, typeOf(true, f), nil)
		until.Store(int64(b.clock().Add(10 * time.Second)))
		a, keep := grant("a", 1, "x", `{"every_ms":20}`), grant("k", 1, "x", `{"every_ms":20,"on_store_loss":"keep"}`)
		b.give(10*time.Second, a)
		time.Sleep(5*time.Second + 7*time.Millisecond)
		b.locked(func() { b.offset = time.Minute })
		before := len(b.rounds)
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if late.Load() != 0 || before == 0 || len(b.rounds) != before {
			t.Fatalf("%d rounds began without a lease; %d before, %d after", late.Load(), before, len(b.rounds))
		}
		if b.runState("a") != "waiting" || !errors.Is(b.stopped[0].Cause, work.CauseLeaseLost) {
			t.Fatalf("a is %s, stopped %+v", b.runState("a"), b.stopped)
		}
		b.lease(20*time.Second, a)
		until.Store(int64(b.clock().Add(20 * time.Second)))
		time.Sleep(time.Second)
		synctest.Wait()
		if len(b.rounds) == before || late.Load() != 0 {
			t.Fatal("with a lease renewed no round began")
		}
		b.give(time.Second, a, keep)
		until.Store(int64(b.clock().Add(time.Second)))
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if b.runState("a") != "waiting" || b.runState("k") != "running" || late.Load() < 100 {
			t.Fatalf("without a lease a is %s, k is %s with %d rounds", b.runState("a"), b.runState("k"), late.Load())
		}
	})
}

// A ctx finds the lease over right after a suspension, before any timer has fired. The run counts as stopped, not as
// failed, and begins again under the next lease.
func TestTheContextLooksAtTheClock(t *testing.T) {
	t.Parallel()
	for name, ended := range map[string]func(context.Context) bool{
		"Err":  func(ctx context.Context) bool { return ctx.Err() != nil },
		"Done": func(ctx context.Context) bool { return isClosed(ctx.Done()) },
	} {
		for _, periodic := range []bool{false, true} {
			for _, keep := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, periodic %t, keep %t", name, periodic, keep), func(t *testing.T) {
					virtual.Test(t, func(t *testing.T) { suspended(t, periodic, keep, ended) })
				})
			}
		}
	}
}

func suspended(t *testing.T, periodic, keep bool, ended func(context.Context) bool) {
	wake, saw := make(chan struct{}), make(chan error, 9)
	b := newBed(t, typeOf(periodic, func(ctx context.Context, _ *work.Grant) error {
		if ended(ctx) {
			t.Error("ended at once")
		}
		<-wake
		if ended(ctx) != (ctx.Err() != nil) {
			t.Error("one way to ask does not look")
		}
		saw <- context.Cause(ctx)
		return context.Cause(ctx)
	}), nil)
	g := grant("a", 1, "x", `{"every_ms":1000}`)
	if keep {
		g = grant("a", 1, "x", `{"every_ms":1000,"on_store_loss":"keep"}`)
	}
	b.give(10*time.Second, g)
	time.Sleep(1500 * time.Millisecond) // waits: virtual time, until a round has begun
	b.locked(func() { b.offset = time.Minute })
	wake <- struct{}{} // no time passes: no timer fires
	if cause := <-saw; errors.Is(cause, work.CauseLeaseLost) == keep {
		t.Errorf("after the suspension: %v", cause)
	}
	synctest.Wait()
	if !keep && (len(b.stopped) != 1 || b.stopped[0].At.Sub(b.stopped[0].Until) < time.Minute ||
		b.stopped[0].Outcome != supervisor.Stopped || !errors.Is(b.stopped[0].Cause, work.CauseLeaseLost)) {
		t.Errorf("stopped: %+v", b.stopped)
	}
	b.lease(10*time.Second, g)
	if got := b.runState("a"); got != "running" && (periodic || !keep) {
		t.Errorf("it is %s under the next lease", got)
	}
	close(wake)
	must.Succeed(t, b.finish())
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// TestALongerLeaseIsForWhatStays: not for what was taken away with it, however long that takes to stop.
func TestALongerLeaseIsForWhatStays(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		var gone *work.Grant
		var b *bed
		asked := false
		b = newBed(t, typeOf(false,
			func(ctx context.Context, g *work.Grant) error { gone = g; return untilEnd(ctx, g) }),
			func(c *supervisor.Config) {
				c.Removed = func(cluster.PartitionID) error {
					b.locked(func() { b.offset = time.Minute })
					if asked = true; gone.Valid() {
						t.Error("it is valid by a lease that was not for it")
					}
					return work.CauseMoved
				}
			})
		b.give(time.Minute, grant("gone", 1, "x", ""))
		if b.give(time.Hour); !asked {
			t.Error("nobody has asked why it was taken away")
		}
	})
}

// TestRoundThatWaitsForRoomChecksTheLeaseWhenItBegins: it was due with a lease and gets its turn without.
func TestRoundThatWaitsForRoomChecksTheLeaseWhenItBegins(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		var begun atomic.Int64
		room := make(chan struct{})
		b := newBed(t, typeOf(true, func(context.Context, *work.Grant) error { begun.Add(1); <-room; return nil }),
			func(c *supervisor.Config) { c.Workers = 1; c.Grace = time.Hour })
		b.give(time.Hour, grant("a", 1, "x", `{"every_ms":1000}`), grant("b", 1, "x", `{"every_ms":1000}`))
		time.Sleep(3 * time.Second)
		synctest.Wait()
		b.locked(func() { b.offset = 2 * time.Hour })
		close(room) // the second gets its turn before the loop has looked at the clock
		synctest.Wait()
		if begun.Load() != 1 {
			t.Fatalf("%d rounds began, want 1", begun.Load())
		}
	})
}

func TestFailuresAreIsolatedAndReported(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		fine := work.RunnerFunc(untilEnd)
		kind := func(f func() (work.Runner, error)) work.Type {
			return work.Type{New: func(work.Definition) (work.Runner, error) { return f() }}
		}
		run := func(f work.RunnerFunc) work.Type { return kind(func() (work.Runner, error) { return f, nil }) }
		types := work.Types{
			"bad": kind(func() (work.Runner, error) {
				return nil, &work.ConfigError{Path: "config.url", Err: errors.New("is empty")}
			}),
			"error":   run(func(context.Context, *work.Grant) error { return errors.New("no route") }),
			"fine":    run(fine),
			"goexit":  run(func(context.Context, *work.Grant) error { runtime.Goexit(); return nil }),
			"newpan":  kind(func() (work.Runner, error) { panic("in New") }),
			"panic":   run(func(context.Context, *work.Grant) error { panic("boom") }),
			"timeout": run(untilEnd),
			"rounds": {Periodic: true,
				New: func(work.Definition) (work.Runner, error) { return work.RunnerFunc(untilEnd), nil }},
		}
		b := newBed(t, types, nil)
		b.give(time.Hour, grant("bad", 1, "bad", ""), grant("cron", 1, "rounds", `{"cron":"every day"}`),
			grant("error", 1, "error", ""),
			grant("every", 1, "rounds", ""), grant("fine", 1, "fine", ""), grant("goexit", 1, "goexit", ""),
			grant("newpan", 1, "newpan", ""), grant("panic", 1, "panic", ""),
			grant("timeout", 1, "timeout", `{"timeout_ms":3000}`), grant("unknown", 1, "none", ""))
		time.Sleep(5 * time.Second)
		synctest.Wait()
		want := map[cluster.PartitionID]string{
			"bad": "make a runner of type bad: config.url: is empty", "error": "no route", "goexit": "runtime.Goexit",
			"newpan": "panic: in New",
			"panic":  "panic: boom", "timeout": "took longer than its timeout of 3s",
			"unknown": `the task type "none" is not known`, "cron": "cron: ", "every": "every: ",
		}
		if len(b.reports) != 10 || len(b.records) != 9 {
			t.Fatalf("reports %+v, records %+v", b.reports, b.records)
		}
		for _, r := range b.reports {
			if w := want[r.Partition]; (r.State == protocol.RunFailed) != (w != "") || !strings.Contains(r.Message, w) {
				t.Errorf("%s: state %d %q, want %q", r.Partition, r.State, r.Message, w)
			}
		}
	})
}

// TestLongErrors: the records and the status have the beginning of an error, whatever its length.
func TestLongErrors(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		long := errors.New(strings.Repeat("x", 100_000))
		types := typeOf(false, func(context.Context, *work.Grant) error { return long })
		types["p"] = work.Type{Periodic: true, New: types["x"].New}
		b := newBed(t, types, nil)
		b.give(time.Hour, grant("long", 1, "x", ""), grant("round", 2, "p", `{"every_ms":60000}`))
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if len(b.records) < 2 {
			t.Fatalf("%d records", len(b.records))
		}
		for _, r := range b.records {
			if len(r.Message) < 4000 || len(r.Message) > 4200 {
				t.Errorf("%s: a record of %d bytes", r.Partition, len(r.Message))
			}
		}
		for _, r := range b.s.Status().Runs {
			if len(r.LastError) < 4000 || len(r.LastError) > cluster.MaxText {
				t.Errorf("%s: a last error of %d bytes", r.Partition, len(r.LastError))
			}
		}
		must.Succeed(t, b.finish())
	})
}

func TestRunThatIgnoresCancel(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		types := typeOf(false, func(context.Context, *work.Grant) error { <-release; return nil })
		types["x"] = work.Type{MaxConcurrent: 1, New: types["x"].New}
		b := newBed(t, types, nil)
		if st := b.s.Status(); st.LeaseMS != 0 {
			t.Errorf("a lease before the first assignment: %+v", st)
		}
		b.give(time.Hour, grant("deaf", 1, "x", ""), grant("next", 3, "x", ""))
		b.give(time.Hour, grant("deaf", 2, "x", ""), grant("next", 3, "x", ""))
		if r := b.s.Status().Runs; r[0].Token != 1 || r[0].State != "stopping" || r[0].Ignores || r[1].Token != 3 || r[1].State != "queued" {
			t.Errorf("%+v", r)
		}
		b.give(time.Hour)
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(b.records) != 1 || b.records[0].Kind != journal.RunError || len(b.reports) != 1 ||
			b.reports[0].State != protocol.RunActive {
			t.Fatalf("records %+v, reports %+v", b.records, b.reports)
		}
		if st := b.s.Status(); !st.Runs[0].Ignores || st.Counts.Stopping != 1 {
			t.Fatalf("%+v", st)
		}
		err := b.finish()
		if !errors.Is(err, supervisor.ErrAbandoned) || !strings.Contains(err.Error(), "deaf") {
			t.Fatalf("Run returned %v", err)
		}
		close(release) // the test ends only when its goroutine does
	})
}

func TestRoundsThatOverlapAreSkipped(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		var running, most atomic.Int64
		b := newBed(t, typeOf(true, func(context.Context, *work.Grant) error {
			if n := running.Add(1); n > most.Load() {
				most.Store(n)
			}
			time.Sleep(25 * time.Second)
			running.Add(-1)
			return nil
		}), func(c *supervisor.Config) { c.Grace = time.Minute })
		b.give(time.Hour, grant("slow", 1, "x", `{"every_ms":10000}`))
		time.Sleep(5*time.Minute + time.Second)
		synctest.Wait()
		r := b.s.Status().Runs[0]
		if most.Load() != 1 || r.Rounds != 9 && r.Rounds != 10 || r.Skipped < 18 || r.Skipped > 20 ||
			r.TookUS != 25_000_000 || r.LatenessUS > 10_000_000 {
			t.Fatalf("%d at once; %+v", most.Load(), r)
		}
	})
}

func TestRoundsAreBoundedByTypeAndWorkers(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		var now, most [2]atomic.Int64
		typ := func(i, limit int) work.Type {
			return work.Type{Periodic: true, MaxConcurrent: limit, DefaultEvery: time.Minute,
				New: func(work.Definition) (work.Runner, error) {
					return work.RunnerFunc(func(context.Context, *work.Grant) error {
						most[i].Store(max(most[i].Load(), now[i].Add(1)))
						time.Sleep(20 * time.Second)
						now[i].Add(-1)
						return nil
					}), nil
				}}
		}
		b := newBed(t, work.Types{"few": typ(0, 2), "rest": typ(1, 0)},
			func(c *supervisor.Config) { c.Workers, c.Grace = 5, time.Minute })
		var grants []*protocol.Grant
		for i := range 40 {
			grants = append(grants, grant(fmt.Sprintf("p%02d", i), 1, []string{"few", "rest"}[i%2], ""))
		}
		b.give(time.Hour, grants...)
		time.Sleep(30 * time.Minute)
		synctest.Wait()
		if most[0].Load() != 2 || most[1].Load() != 5 && most[1].Load() != 4 && most[1].Load() != 3 {
			t.Fatalf("at most %d of 2, and %d", most[0].Load(), most[1].Load())
		}
		for _, r := range b.s.Status().Runs {
			if r.Rounds == 0 {
				t.Fatalf("%s never had its turn", r.Partition)
			}
		}
	})
}

// TestWhoComesSoonerIsNotLate: the pacer sleeps until the next round that it knows, and no longer when a sooner one
// comes.
func TestWhoComesSoonerIsNotLate(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		var rounds atomic.Int64
		b := newBed(t, typeOf(true, func(_ context.Context, g *work.Grant) error {
			if g.Partition == "b" {
				rounds.Add(1)
			}
			return nil
		}), nil)
		a := grant("a", 1, "x", `{"every_ms":3600000}`)
		b.give(time.Hour, a)
		time.Sleep(500 * time.Millisecond)
		b.give(time.Hour, a, grant("b", 1, "x", `{"every_ms":50}`))
		time.Sleep(200 * time.Millisecond)
		synctest.Wait()
		if n := rounds.Load(); n < 3 {
			t.Errorf("%d rounds in 200 ms", n)
		}
	})
}

func TestErrorsOfRoundsAreJournaledRarely(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		var bad atomic.Bool
		bad.Store(true)
		b := newBed(t, typeOf(true, func(context.Context, *work.Grant) error {
			if bad.Load() {
				panic("no such host")
			}
			return nil
		}), nil)
		b.give(100*time.Hour, grant("a", 1, "x", `{"every_ms":10000}`))
		begun := time.Now()
		time.Sleep(10*time.Minute + time.Second)
		st := b.s.Status()
		if at := time.UnixMilli(st.Runs[0].FailingMS); at.Sub(begun) > 10*time.Second || st.Counts.Failing != 1 {
			t.Errorf("%d fail, since %s after its beginning", st.Counts.Failing, at.Sub(begun))
		}
		bad.Store(false)
		time.Sleep(time.Minute)
		synctest.Wait()
		if st := b.s.Status(); st.Counts.Failing != 0 || st.Runs[0].FailingMS != 0 || st.Runs[0].Failures != 60 {
			t.Errorf("when it is well again: %+v", st)
		}
		var got []string
		for _, r := range b.records {
			got = append(got, string(r.Kind)+": "+r.Message)
		}
		want := []string{
			"run-error: panic: no such host",
			"run-error: panic: no such host (failed rounds: 7 in a row, 6 since the last record)",
			"run-error: panic: no such host (failed rounds: 19 in a row, 12 since the last record)",
			"run-error: panic: no such host (failed rounds: 43 in a row, 24 since the last record)",
			"recovered: well again after 60 failed rounds",
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Fatalf("journal:\n%s", strings.Join(got, "\n"))
		}
		if len(b.reports) != 1 || b.reports[0].State != protocol.RunActive {
			t.Fatalf("failing rounds failed the partition: %+v", b.reports)
		}
	})
}

func TestRoundHasItsTimeLimit(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		b := newBed(t, typeOf(true, func(ctx context.Context, _ *work.Grant) error { <-ctx.Done(); return ctx.Err() }),
			nil)
		b.give(time.Hour, grant("a", 1, "x", `{"every_ms":10000,"timeout_ms":2000}`))
		time.Sleep(20 * time.Second)
		synctest.Wait()
		if len(b.rounds) == 0 || b.rounds[0].Took != 2*time.Second ||
			!errors.Is(b.rounds[0].Err, context.DeadlineExceeded) {
			t.Fatalf("%+v", b.rounds)
		}
	})
}

func TestCronIsUTCAndFollowsTheWallClock(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		var at []string
		var jump atomic.Int64
		wall := func() time.Time { return time.Now().Add(time.Duration(jump.Load())) }
		b := newBed(t, typeOf(true, func(context.Context, *work.Grant) error {
			at = append(at, wall().UTC().Format("15:04"))
			return nil
		}), func(c *supervisor.Config) { c.Wall = wall })
		b.give(1000*time.Hour, grant("a", 1, "x", `{"cron":"30 6,18 * * *"}`),
			grant("never", 1, "x", `{"cron":"0 0 31 2 *"}`))
		time.Sleep(24 * time.Hour)
		jump.Store(int64(6 * time.Hour)) // 06:00 by the wall clock
		time.Sleep(time.Hour)
		synctest.Wait()
		if got := strings.Join(at, " "); got != "06:30 18:30 06:30" {
			t.Fatalf("rounds at %s", got)
		}
	})
}

func TestStopOfPeriodicRunsEndsTheRound(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		var cause error
		b := newBed(t, typeOf(true, func(ctx context.Context, _ *work.Grant) error {
			<-ctx.Done()
			cause = context.Cause(ctx)
			return cause
		}), func(c *supervisor.Config) { c.Removed = func(cluster.PartitionID) error { return work.CauseDrained } })
		b.give(time.Hour, grant("a", 1, "x", `{"every_ms":100}`), grant("b", 1, "x", `{"every_ms":3600000}`))
		time.Sleep(time.Second)
		b.give(time.Hour)
		if !errors.Is(cause, work.CauseDrained) || len(b.reports) != 0 || len(b.stopped) != 2 || len(b.records) != 0 {
			t.Fatalf("cause %v, reports %+v, stopped %+v, records %+v", cause, b.reports, b.stopped, b.records)
		}
	})
}

func TestClosedAssignmentsEndTheSupervisor(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		b := newBed(t, typeOf(false, untilEnd), nil)
		b.give(time.Hour, grant("a", 1, "x", ""))
		close(b.assign)
		if err := <-b.done; err != nil || len(b.stopped) != 1 {
			t.Fatalf("%v, stopped %+v", err, b.stopped)
		}
		if err := b.s.Run(t.Context(), nil); err == nil {
			t.Fatal("Run ran twice")
		}
	})
}

type sink []publish.Sample

func (s *sink) Publish(samples ...publish.Sample) { *s = append(*s, samples...) }

func TestGrantActsThroughTheSupervisor(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		var out sink
		var split []cluster.Command
		var errs []error
		accept := true
		b := newBed(t, typeOf(false, func(ctx context.Context, g *work.Grant) error {
			g.Value("x.up", 1, nil)
			errs = append(errs, g.Split(ctx, []cluster.Child{{Key: "k2"}}))
			accept = false
			errs = append(errs, g.Split(ctx, nil))
			if !g.Valid() {
				t.Error("not valid while running")
			}
			<-ctx.Done()
			if g.Valid() {
				t.Error("valid after ctx has ended")
			}
			return nil
		}), func(c *supervisor.Config) {
			c.Publisher = &out
			c.Propose = func(_ context.Context, cs ...cluster.Command) ([]cluster.Result, error) {
				split = append(split, cs...)
				return []cluster.Result{{Accepted: accept, Reason: "the token is old"}}, nil
			}
		})
		b.give(time.Hour, grant("j#k", 7, "x", `{"tags":{"squad":"backend"}}`))
		if len(out) != 1 || out[0].Tags["squad"] != "backend" || out[0].Tags["partition"] != "k" {
			t.Fatalf("samples %+v", out)
		}
		c, _ := split[0].(cluster.SplitPartition)
		if c.Partition != "j#k" || c.Token != 7 || len(c.Children) != 1 || errs[0] != nil || errs[1] == nil ||
			!strings.Contains(errs[1].Error(), "the token is old") {
			t.Fatalf("split %+v, errors %v", split, errs)
		}
		must.Succeed(t, must.Err(json.Marshal(b.s.Status())))
	})
}

// TestARunIsValidFromItsBeginning has a run ask at once, while the supervisor is still busy with what else there is to
// do about its assignment.
func TestARunIsValidFromItsBeginning(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		asked := make(chan bool, 1)
		valid := false
		b := newBed(t, typeOf(false, func(ctx context.Context, g *work.Grant) error {
			asked <- g.Valid()
			<-ctx.Done()
			return nil
		}), func(c *supervisor.Config) {
			first := sync.OnceFunc(func() { valid = <-asked })
			c.Report = func(uint64, []protocol.Report) { first() }
		})
		b.give(time.Hour, grant("a", 1, "x", ""))
		if !valid {
			t.Error("a run that has just begun is not valid")
		}
	})
}

func TestNewChecksItsConfig(t *testing.T) {
	t.Parallel()
	none := func(work.Definition) (work.Runner, error) { return nil, nil }
	for name, c := range map[string]supervisor.Config{
		"no member":    {},
		"no New":       {Member: "m", Types: work.Types{"x": {Name: "x"}}},
		"another name": {Member: "m", Types: work.Types{"x": {Name: "y", New: none}}},
		"less than no": {Member: "m", Types: work.Types{"x": {MaxConcurrent: -1, New: none}}},
	} {
		if _, err := supervisor.New(c); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}
