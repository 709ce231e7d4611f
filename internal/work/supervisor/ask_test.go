package supervisor_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/values"
	"github.com/rota-run/rota/internal/proof/virtual"
	"github.com/rota-run/rota/internal/work/supervisor"
	"github.com/rota-run/rota/journal"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
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
		met := false // somebody else who asks
		o.docs.locked(func() {
			o.docs.fault = func(int) (bool, error) {
				if met {
					return true, nil
				}
				met = true
				return false, store.ErrConflict
			}
		})
		o.ask()
		tries := 0
		o.docs.locked(func() {
			o.docs.fault = func(int) (bool, error) {
				if tries++; tries > 99 {
					return false, store.ErrClosed
				}
				return false, store.ErrConflict
			}
		})
		if a, err := supervisor.AskRound(t.Context(), o.docs, "invoices", "ann"); !errors.Is(err, store.ErrConflict) {
			t.Errorf("where others are always first: %+v, %v", a, err)
		}
		o.docs.locked(func() { o.docs.fault = nil })
		o.leave(10 * time.Minute)
		o.begin()
		o.leave(time.Hour)
		if len(o.rounds) != 3 || o.rounds[1] != "00:10:00" || o.rounds[2] != "01"+o.rounds[0][2:] {
			t.Errorf("rounds %v", o.rounds)
		}
	})
}

// An owner that cannot note that it has run does not run again; it notes it later. A list that is old asks nobody
// again.
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
		v = values.After(t, v, c)
	}
	task := func(kind, definition string, keys ...string) cluster.JobSpec {
		s := cluster.TaskSpec{Type: kind, Definition: []byte(definition), Partitions: keys}
		if len(keys) > 0 {
			s.Spread = cluster.SpreadPartitioned
		}
		return cluster.JobSpec{Tasks: []cluster.TaskSpec{s}}
	}
	do(cluster.SubmitJob{Job: "check", Spec: task("http", `{"every_ms":1000}`)})
	do(cluster.SubmitJob{Job: "tail", Spec: task("tail", `{}`)})
	do(cluster.SubmitJob{Job: "mine", Spec: task("my.type", `{"cron":"* * * * *"}`)})
	do(cluster.SubmitJob{Job: "other", Spec: task("my.type", `{}`)})
	do(cluster.SubmitJob{Job: "rests", Spec: task("http", `{}`)})
	do(cluster.PauseJob{Job: "rests", By: "ann"})
	do(cluster.SubmitJob{Job: "ended", Spec: task("http", `{}`)})
	do(cluster.KillJob{Job: "ended"})
	do(cluster.SubmitJob{Job: "keys", Spec: task("http", `{}`, "over", "p", "q")})
	do(cluster.PrepareJoin{Member: "m", Heartbeat: "pulse/m/0"})
	over, _ := v.Partition("keys#over")
	do(cluster.FinishPartition{Partition: over.ID, Token: over.Token, Outcome: cluster.OutcomeDone})
	do(cluster.SubmitJob{Job: "fewer", Spec: task("http", `{}`, "p", "gone")})
	do(cluster.UpdateJob{Job: "fewer", Spec: task("http", `{}`, "p"), Expected: cluster.Expect(v.Index())})
	do(cluster.SubmitJob{Job: "tails", Spec: task("tail", `{}`, "p")})
	types := work.Types{"http": {Name: "http", Periodic: true}, "tail": {Name: "tail"}}
	for name, want := range map[string]string{ // order-free: each by itself
		"tail":    "a task of type tail runs all the time, not in rounds",
		"tails#p": "a task of type tail runs all the time, not in rounds",
		"other":   "type my.type is not known here, and the task has neither every nor cron",
		"rests":   "it is paused by ann", "ended": "no such live task", "none": "no such live task",
		"keys#r": "no such live task", "check/x": "no such live task",
	} {
		if got, err := supervisor.Rounds(v, name, types); err == nil || err.Error() != want {
			t.Errorf("%s: %v, %v; want %s", name, got, err, want)
		}
	}
	for name, want := range map[string][]cluster.PartitionID{"check": {"check"}, "keys": {"keys#p", "keys#q"},
		"keys#q": {"keys#q"}, "mine": {"mine"}, "fewer": {"fewer#p"}} { // order-free: each by itself
		if got, err := supervisor.Rounds(v, name, types); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v; want %v", name, got, err, want)
		}
	}
}

// TestMalformedRequests: a document that no owner can read is removed and named in the journal, once, and the requests
// beside it are served.
func TestMalformedRequests(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		o := newOwners(t, `{"cron":"0 * * * *"}`)
		o.docs.hints = make(chan struct{}, 1)
		o.begin()
		time.Sleep(10 * time.Minute)
		for key, text := range map[string]string{"run-now/a": "{", "run-now/b": `{"partition":"invoices"}`} {
			must.Succeed(t, must.Err(o.docs.Put(t.Context(), store.Doc{Key: key, Value: []byte(text)})))
		}
		a := o.ask()
		time.Sleep(10 * time.Minute)
		if !o.answered(a) {
			t.Error("the request beside them is not served")
		}
		left, err := o.docs.List(t.Context(), "run-now/")
		if len(left) != 0 || err != nil {
			t.Errorf("left %v, %v", left, err)
		}
		var refused []string
		o.bed.locked(func() {
			for _, r := range o.bed.records {
				if r.Kind == journal.Refused {
					refused = append(refused, r.Message)
				}
			}
		})
		said := strings.Join(refused, "\n")
		for _, want := range []string{`"run-now/a"`, `"run-now/b"`, "unexpected end of JSON input",
			`partition "invoices" has the key "run-now/`, "try: rota task trigger TASK"} {
			if !strings.Contains(said, want) {
				t.Errorf("the journal does not say %s:\n%s", want, said)
			}
		}
		if len(refused) != 2 {
			t.Errorf("%d records, want 2:\n%s", len(refused), said)
		}
		o.leave(time.Minute)
	})
}

// TestKeptRounds: what is kept of rounds says when the last one was and the next one is, and no more than that.
func TestKeptRounds(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 25, 14, 30, 20, 0, time.UTC)
	clock := func(at time.Time) string {
		if at.IsZero() {
			return "-"
		}
		return at.Format("15:04:05")
	}
	for definition, want := range map[string]string{
		`{"every_ms":3600000} 14:02:10`:    "14:02:10 15:02:10",
		`{"every_ms":3600000} 09:02:10`:    "09:02:10 15:02:10", // nobody could run it
		`{"every_ms":3600000} -`:           "- -",
		`{"every_ms":60000} 14:02:10`:      "14:02:10 14:31:10", // the shortest that is kept
		`{"every_ms":59999} 14:02:10`:      "- -",
		`{"cron":"0_*_*_*_*"} 14:00:00`:    "14:00:00 15:00:00",
		`{"cron":"0_*_*_*_*"} 13:17:04`:    "- 15:00:00", // counts from there, and has never run
		`{"cron":"0_*_*_*_*"} -`:           "- 15:00:00",
		`{"every_ms":"x"} 14:00:00`:        "- -",
		`{"every_ms":3600000} 14:31:00`:    "14:31:00 15:31:00", // by a clock that is ahead
		`{"cron":"0_*_*_*_nonsense"} none`: "",
	} { // order-free: each by itself
		docs, spec, at := memory.New().Open(), "", ""
		_, err := fmt.Sscan(definition, &spec, &at)
		must.Succeed(t, err)
		if last, err := time.Parse("15:04:05", at); err == nil {
			last = time.Date(2026, 11, 25, last.Hour(), last.Minute(), last.Second(), 0, time.UTC)
			text := fmt.Sprintf(`{"partition":"x","token":3,"round_ms":%d}`, last.UnixMilli())
			_, err := docs.Put(t.Context(), store.Doc{Key: "position/x", Value: []byte(text)})
			must.Succeed(t, err)
		}
		task := &cluster.TaskSpec{Type: "noop", Definition: []byte(spaced(spec))}
		rounds, err := supervisor.KeptRounds(t.Context(), docs, "x", task, now)
		if (err != nil) != (want == "") || err == nil && clock(rounds.Last)+" "+clock(rounds.Next) != want {
			t.Errorf("%s: %s %s, %v; want %s", definition, clock(rounds.Last), clock(rounds.Next), err, want)
		}
	}
}

func spaced(s string) string {
	b := []byte(s)
	for i := range b {
		if b[i] == '_' && s[i-1] != 'y' {
			b[i] = ' '
		}
	}
	return string(b)
}
