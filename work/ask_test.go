package work_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/virtual"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/work"
)

// ask asks for a round, and waits for less than a second of the rounds' times.
func (o *owners) ask() work.Ask {
	o.t.Helper()
	a, err := work.AskRound(o.t.Context(), o.docs, "invoices", "ann")
	must.Succeed(o.t, err)
	return a
}

func (o *owners) answered(a work.Ask) bool {
	o.t.Helper()
	over, err := a.Answered(o.t.Context(), o.docs)
	must.Succeed(o.t, err)
	return over
}

// A round that people ask for begins at once, once, and moves no planned one: neither here nor at the next owner.
func TestARoundIsAskedFor(t *testing.T) {
	t.Parallel()
	for _, definition := range []string{`{"cron":"0 * * * *"}`, `{"cron":"0 * * * *","catch_up":"all"}`} {
		synctest.Test(t, func(t *testing.T) {
			o := newOwners(t, definition)
			o.docs.hints = make(chan struct{}, 1)
			o.begin()
			time.Sleep(10 * time.Minute)
			a := o.ask()
			if o.answered(a) {
				t.Error("answered before it has run")
			}
			time.Sleep(10 * time.Minute)
			if !o.answered(a) {
				t.Error("not answered")
			}
			b, c := o.ask(), o.ask()
			o.leave(time.Hour)
			if !o.answered(b) || !o.answered(c) {
				t.Error("two at a time are not answered")
			}
			o.begin()
			o.leave(40*time.Minute + time.Minute)
			o.expect("00:10:00", "00:20:00", "01:00:00", "02:00:00")
		})
	}
}

// A list may show a request as it was: one that was asked once more, or one that an earlier owner has answered.
func TestAListOfRequestsMayBeOld(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		o := newOwners(t, `{"cron":"0 12 * * *"}`)
		o.docs.hints = make(chan struct{}, 1)
		o.begin()
		time.Sleep(10 * time.Minute)
		o.ask()
		shown, err := o.docs.List(t.Context(), "run-now/")
		if len(shown) != 1 || err != nil {
			t.Fatalf("%v, %v", shown, err)
		}
		time.Sleep(10 * time.Minute)
		o.expect("00:10:00")
		o.leave(0)
		o.begin()
		time.Sleep(10 * time.Minute)
		o.docs.locked(func() { o.docs.stale = shown })
		o.docs.hints <- struct{}{}
		time.Sleep(10 * time.Minute)
		o.expect()
		o.docs.locked(func() { o.docs.stale = shown })
		a := o.ask()
		time.Sleep(10 * time.Minute)
		if !o.answered(a) {
			t.Error("not answered")
		}
		o.expect("00:40:00")
		o.leave(time.Minute)
	})
}

// A round that was asked for is not one of the schedule: the next owner goes on from the last planned one.
func TestARoundThatIsAskedForMovesNoPeriod(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		o := newOwners(t, `{"every_ms":3600000}`)
		o.docs.hints = make(chan struct{}, 1)
		o.begin()
		time.Sleep(10 * time.Minute)
		o.ask()
		o.leave(10 * time.Minute)
		o.begin()
		o.leave(time.Hour)
		if len(o.rounds) != 3 || o.rounds[1] != "00:10:00" || o.rounds[2] != "01"+o.rounds[0][2:] {
			t.Errorf("rounds %v", o.rounds)
		}
	})
}

// Each request is answered by a round that begins after it: one that runs already saw the world before.
func TestARoundIsAskedForDuringARound(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		o := newOwners(t, `{"cron":"0 * * * *"}`)
		o.docs.hints = make(chan struct{}, 1)
		o.round = func(ctx context.Context, _ *work.Grant) error {
			select {
			case <-time.After(10 * time.Minute):
			case <-ctx.Done():
			}
			return errors.New("a round that fails is a round")
		}
		o.begin()
		time.Sleep(65 * time.Minute)
		a := o.ask()
		time.Sleep(4 * time.Minute) // the first round still runs
		b := o.ask()
		time.Sleep(7 * time.Minute)
		if !o.answered(a) || o.answered(b) {
			t.Errorf("while its round runs: a %t (asked once more), b %t", o.answered(a), o.answered(b))
		}
		o.leave(40 * time.Minute)
		if !o.answered(b) {
			t.Error("not answered")
		}
		o.expect("01:00:00", "01:10:00 for 01:09:00")
	})
}

// What an owner does not bring to its end the next one runs.
func TestTheNextOwnerRunsWhatWasAskedFor(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		o := newOwners(t, `{"cron":"0 12 * * *"}`)
		o.docs.hints = make(chan struct{}, 1)
		o.round = func(ctx context.Context, _ *work.Grant) error {
			select {
			case <-time.After(time.Minute):
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		a := o.ask() // while nobody owns it
		o.begin()
		o.leave(30 * time.Second)
		if o.answered(a) {
			t.Error("a round that was cut short has answered")
		}
		o.begin()
		o.leave(10 * time.Minute)
		if !o.answered(a) {
			t.Error("not answered")
		}
		o.begin()
		o.leave(10 * time.Minute)
		o.expect("00:00:00", "00:00:30")
	})
}

// An owner that cannot note that it has run does not run again; it notes it later. A list that is old asks nobody again.
func TestARequestIsRemovedLater(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		o := newOwners(t, `{"cron":"0 12 * * *"}`)
		away := true
		o.docs.onDelete = func(string) error {
			if away {
				return store.ErrUnknown
			}
			return nil
		}
		o.begin()
		a := o.ask()
		time.Sleep(time.Minute)
		o.docs.locked(func() { away = false })
		if o.answered(a) {
			t.Error("removed while the store was away")
		}
		o.leave(time.Minute)
		if !o.answered(a) {
			t.Error("not removed")
		}
		if len(o.rounds) != 1 || o.rounds[0] > "00:00:03" {
			t.Errorf("a store that does not hint: %v", o.rounds)
		}
	})
}

func TestRounds(t *testing.T) {
	t.Parallel()
	v := cluster.Value{}
	do := func(c cluster.Command) {
		t.Helper()
		var r cluster.Result
		if v, r = v.Do(v.Index()+1, 0, c); !r.Accepted {
			t.Fatal(c, r.Reason)
		}
	}
	task := func(kind, definition string, keys ...string) cluster.JobSpec {
		s := cluster.TaskSpec{Type: kind, Definition: []byte(definition), Partitions: keys}
		if len(keys) > 0 {
			s.Spread = cluster.SpreadPartitioned
		}
		return cluster.JobSpec{Tasks: []cluster.TaskSpec{s}}
	}
	do(cluster.SubmitJob{Job: "check", Spec: task("http", `{"every_ms":1000}`)})
	do(cluster.SubmitJob{Job: "keys", Spec: task("http", `{}`, "p", "q")})
	do(cluster.SubmitJob{Job: "tail", Spec: task("tail", `{}`)})
	do(cluster.SubmitJob{Job: "mine", Spec: task("my.type", `{"cron":"* * * * *"}`)})
	do(cluster.SubmitJob{Job: "other", Spec: task("my.type", `{}`)})
	do(cluster.SubmitJob{Job: "rests", Spec: task("http", `{}`)})
	do(cluster.PauseJob{Job: "rests", By: "ann"})
	do(cluster.SubmitJob{Job: "ended", Spec: task("http", `{}`)})
	do(cluster.KillJob{Job: "ended"})
	types := work.Types{"http": {Name: "http", Periodic: true}, "tail": {Name: "tail"}}
	for name, want := range map[string]string{ // order-free: each by itself
		"tail": "a task of type tail runs all the time, not in rounds", "other": "type my.type is not known here, and the task has neither every nor cron",
		"rests": "it is paused by ann", "ended": "no such live task", "none": "no such live task", "keys#r": "no such live task", "check/x": "no such live task",
	} {
		if got, err := work.Rounds(v, name, types); err == nil || err.Error() != want {
			t.Errorf("%s: %v, %v; want %s", name, got, err, want)
		}
	}
	for name, want := range map[string][]cluster.PartitionID{"check": {"check"}, "keys": {"keys#p", "keys#q"}, "keys#q": {"keys#q"}, "mine": {"mine"}} { // order-free: each by itself
		if got, err := work.Rounds(v, name, types); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v; want %v", name, got, err, want)
		}
	}
}
