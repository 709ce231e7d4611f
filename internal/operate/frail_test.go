package operate

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/flows"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/protocol/replica"
	"github.com/rota-run/rota/internal/store/faults"
	"github.com/rota-run/rota/internal/work/stage"
	"github.com/rota-run/rota/internal/work/supervisor"
	"github.com/rota-run/rota/journal"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
	"github.com/rota-run/rota/work"
)

// frailty lets one of all calls fail: that with the number fails.
type frailty struct{ calls, fails int }

func (f *frailty) call() error {
	if f.calls++; f.calls == f.fails {
		return store.ErrUnavailable
	}
	return nil
}

func (f *frailty) plan(faults.Call) faults.Outcome {
	if f.call() != nil {
		return faults.Refused
	}
	return faults.Pass
}

// Whichever call fails, the caller learns of it: from the error, or from what the answer says of journal and stages.
func TestEachFailureIsSaid(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	for what, do := range map[string]func(*Operator) (Answer, error){
		"submit": func(o *Operator) (Answer, error) { return o.Submit(ctx, "new", spec("check"), 0) },
		"update that meets another": func(o *Operator) (Answer, error) {
			w := o.at.(*world)
			w.between = func() { w.others(cluster.UpdateJob{Job: "x", Spec: spec("other")}) }
			return o.Submit(ctx, "x", spec("new"), Update)
		},
		"kill":    func(o *Operator) (Answer, error) { return o.Kill(ctx, "x") },
		"drain":   func(o *Operator) (Answer, error) { return o.Drain(ctx, "a") },
		"undrain": func(o *Operator) (Answer, error) { return o.Undrain(ctx, "a") },
		"evict":   func(o *Operator) (Answer, error) { return o.Evict(ctx, "a") },
		"run now": func(o *Operator) (Answer, error) { _, a, err := o.RunNow(ctx, "x"); return a, err },
		"retry":   func(o *Operator) (Answer, error) { _, a, err := o.RetryDead(ctx, "etl"); return a, err },
		"drop":    func(o *Operator) (Answer, error) { _, a, err := o.DropDead(ctx, "etl"); return a, err },
		"prune": func(o *Operator) (Answer, error) {
			all, err := o.Prune(ctx, "tasks")
			return append(all, Answer{})[0], err
		},
	} { // order-free: each by itself
		fails := 0
		for calls := 0; calls >= fails; {
			w, _, docs := newWorld(t)
			queue := deadLetters(t, w, docs, "x")
			pruned := spec("check")
			pruned.Source = "tasks"
			w.others(cluster.SubmitJob{Job: "x", Spec: spec("check")}, cluster.SubmitJob{Job: "y", Spec: pruned})
			must.Succeed(t, must.Err(docs.Put(ctx,
				store.Doc{Key: "source/tasks/a", Value: []byte(`{"incarnation":1}`)})))
			fails++
			w.frailty = frailty{fails: fails}
			a, err := do(New(w, faults.NewFaulty(docs.(*memory.Store), w.plan), faults.FaultyQueue{Queue: queue, Plan: w.plan},
				work.Types{"check": {Name: "check", Periodic: true}}, "ann"))
			calls = w.calls
			if told := cmp.Or(err, a.Unjournaled, a.Unheard); calls >= fails && !errors.Is(told, store.ErrUnavailable) {
				t.Errorf("%s: call %d fails, and it says %v", what, fails, told)
			}
			if m, _ := w.v.Member("a"); what == "evict" && fails < 4 && m.Draining {
				t.Error("a member is drained, and was not told before that it has to go")
			}
		}
		if fails < 3 {
			t.Errorf("%s makes no call", what)
		}
	}
}

// A program that is no member settles nothing by a command that is refused; it founds a cluster, and sees what it has
// said.
func TestFromOutside(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	docs := memory.New().Open()
	defer docs.Close()
	f := &frailty{}
	c := Outside(replica.Protocol{}, faults.NewFaulty(docs, f.plan), "ann")
	o := New(c, docs, nil, nil, "ann")
	var refused *RefusedError
	for _, err := range []error{must.Err(o.Pause(ctx, "x")), must.Err(o.Drain(ctx, "a"))} {
		if !errors.As(err, &refused) || refused.Reason != "there is no cluster here yet" {
			t.Error(err)
		}
	}
	for f.fails = 1; f.fails < 4; f.fails++ { // the reads before its client is there
		f.calls = 0
		if _, err := o.Submit(ctx, "x", spec("check"), 0); !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("call %d fails, and it says %v", f.fails, err)
		}
	}
	f.fails = 0
	if at, err := protocol.At(ctx, docs); at.Protocol != "" || err != nil {
		t.Errorf("the place has %q: %v", at.Protocol, err)
	}
	must.Succeed(t, must.Err(o.Submit(ctx, "x", spec("check"), 0)))
	a, err := o.Pause(ctx, "x")
	if j, _ := must.Get(c.Value(ctx))(t).Job("x"); err != nil || a.Unjournaled != nil || !j.Paused() {
		t.Errorf("%+v, %v; the job is %+v", a, err, j)
	}
	<-c.Changed()
	over, cancel := context.WithCancelCause(ctx)
	cancel(io.EOF)
	w, _, _ := newWorld(t)
	never := New(&late{world: w, seen: w.v, changed: make(chan struct{})}, nil, nil, nil, "ann")
	if _, err := never.Submit(over, "x", spec("check"), 0); !errors.Is(err, io.EOF) {
		t.Errorf("who waits no longer for what never comes: %v", err)
	}
	docs.Close()
	if _, err := c.Value(ctx); !errors.Is(err, store.ErrClosed) ||
		!errors.Is(c.Record(ctx, journal.Record{Kind: journal.Asked}), store.ErrClosed) {
		t.Errorf("a store that is closed: %v", err)
	}
}

// deadLetters submits a flow of two tasks, and writes dead letters of the second; one without a text is damaged.
func deadLetters(t *testing.T, w *world, docs store.Docs, texts ...string) store.Queue {
	t.Helper()
	w.others(cluster.SubmitJob{Job: "etl", Spec: flows.Spec("check")})
	var units []store.Unit
	for _, text := range texts {
		units = append(units, dead(t, text))
	}
	queue := docs.(store.Queue)
	flows.Open(t, w.v, "etl", queue, units...)
	return queue
}

func dead(t *testing.T, text string) store.Unit {
	t.Helper()
	letter, err := json.Marshal(stage.Letter{Error: "no luck", Edge: "edge/read/write", Text: text, Segments: 1})
	if must.Succeed(t, err); text == "" {
		letter = []byte("damaged")
	}
	return store.Unit{Name: "dead" + text, Outputs: []store.Put{{Shard: flows.Dead, Segments: 1, Data: letter}}}
}

// TestALetterThatStays: what was put back before it is in the journal, idle tasks are told, and it may be dropped at
// once.
func TestALetterThatStays(t *testing.T) {
	t.Parallel()
	w, _, docs := newWorld(t)
	letters := []string{"x", ""}
	for i := range 1001 { // more than one page
		letters = append(letters, fmt.Sprint(i))
	}
	queue := deadLetters(t, w, docs, letters...)
	o := New(w, docs, queue, work.Types{}, "ann")
	w.told = nil
	n, a, err := o.RetryDead(t.Context(), "etl")
	if n != 1 || !a.Changed || err == nil || len(w.told) != 1 || w.told[0].Message != "retry-dead etl: 1" {
		t.Errorf("%d, %+v, %v; the journal has %v", n, a, err, w.told)
	}
	if d, err := docs.Get(t.Context(), "flow-bell"); err != nil || !strings.Contains(string(d.Value), `"etl@`) {
		t.Errorf("idle tasks were told %s, %v", d.Value, err)
	}
	if n, _, err = o.DropDead(t.Context(), "etl"); n != 1002 || err != nil {
		t.Errorf("%d are dropped, %v", n, err)
	}
	w.told = nil
	if n, a, err := o.DropDead(t.Context(), "etl"); n != 0 || a.Changed || err != nil || w.told != nil {
		t.Errorf("where there are none: %d, %+v, %v; the journal has %v", n, a, err, w.told)
	}
	j, _ := w.v.Job("etl")
	name := supervisor.FlowName(&j)
	if d, err := queue.Depth(t.Context(), name, flows.Edge); err != nil || d[0].Segments != 1 {
		t.Errorf("what was put back counts as %+v, %v", d, err)
	}
	must.Succeed(t, must.Err(queue.Commit(t.Context(), name, dead(t, "y"))))
	busy := faults.FaultyQueue{Queue: queue, Plan: func(c faults.Call) faults.Outcome {
		if c.Op == "commit" { // another letter comes, which may be the one that is put back
			must.Succeed(t, must.Err(queue.Commit(t.Context(), name, dead(t, "z"))))
		}
		return faults.Pass
	}}
	if n, _, err := New(w, docs, busy, work.Types{}, "ann").RetryDead(t.Context(), "etl"); n != 1 || err != nil {
		t.Errorf("%d were put back, and one has come meanwhile: %v", n, err)
	}
	w.others(cluster.SubmitJob{Job: "plain", Spec: spec("check")})
	for id, o := range map[cluster.JobID]*Operator{"plain": o, "etl": New(w, docs, nil, work.Types{}, "ann")} {
		if _, _, err := o.DropDead(t.Context(), id); !errors.Is(err, ErrRefused) ||
			!strings.Contains(err.Error(), "is no flow") {
			t.Errorf("%s: %v", id, err)
		}
	}
}
