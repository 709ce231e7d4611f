package supervisor_test

import (
	"slices"
	"testing"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/virtual"
	"github.com/rota-run/rota/internal/work/supervisor"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/work"
)

// ask asks for a round, and waits for less than a second of the rounds' times.
func (o *owners) ask() supervisor.Ask {
	o.t.Helper()
	a, err := supervisor.AskRound(o.t.Context(), o.docs, "invoices", "ann")
	must.Succeed(o.t, err)
	return a
}

func (o *owners) answered(a supervisor.Ask) bool {
	o.t.Helper()
	over, err := a.Answered(o.t.Context(), o.docs)
	must.Succeed(o.t, err)
	return over
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
		if got, err := supervisor.Rounds(v, name, types); err == nil || err.Error() != want {
			t.Errorf("%s: %v, %v; want %s", name, got, err, want)
		}
	}
	for name, want := range map[string][]cluster.PartitionID{"check": {"check"}, "keys": {"keys#p", "keys#q"}, "keys#q": {"keys#q"}, "mine": {"mine"}} { // order-free: each by itself
		if got, err := supervisor.Rounds(v, name, types); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v; want %v", name, got, err, want)
		}
	}
}
