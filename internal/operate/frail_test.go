package operate

import (
	"cmp"
	"context"
	"errors"
	"io"
	"testing"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/protocol/replica"
	"github.com/rota-run/rota/internal/store/faults"
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
