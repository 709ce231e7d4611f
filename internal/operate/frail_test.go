package operate

import (
	"cmp"
	"context"
	"errors"
	"testing"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/protocol/replica"
	"github.com/rota-run/rota/journal"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
	"github.com/rota-run/rota/work"
)

var errFrail = errors.New("no answer")

// frailty lets one of all calls fail: that with the number fails.
type frailty struct{ calls, fails int }

func (f *frailty) call() error {
	if f.calls++; f.calls == f.fails {
		return errFrail
	}
	return nil
}

type frailWorld struct {
	*world
	*frailty
}

func (w frailWorld) Value(ctx context.Context) (cluster.Value, error) {
	v, err := w.world.Value(ctx)
	return v, cmp.Or(w.call(), err)
}

func (w frailWorld) Propose(ctx context.Context, commands ...cluster.Command) ([]cluster.Result, error) {
	if err := w.call(); err != nil {
		return nil, err
	}
	return w.world.Propose(ctx, commands...)
}

func (w frailWorld) Record(ctx context.Context, r journal.Record) error {
	return cmp.Or(w.call(), w.world.Record(ctx, r))
}

type frailStore struct {
	*memory.Store
	*frailty
}

func (s frailStore) Get(ctx context.Context, key string) (store.Doc, error) {
	d, err := s.Store.Get(ctx, key)
	return d, cmp.Or(s.call(), err)
}

func (s frailStore) List(ctx context.Context, prefix string) ([]store.Doc, error) {
	all, err := s.Store.List(ctx, prefix)
	return all, cmp.Or(s.call(), err)
}

func (s frailStore) Put(ctx context.Context, d store.Doc) (store.Version, error) {
	if err := s.call(); err != nil {
		return "", err
	}
	return s.Store.Put(ctx, d)
}

func (s frailStore) Delete(ctx context.Context, key string, v store.Version) error {
	return cmp.Or(s.call(), s.Store.Delete(ctx, key, v))
}

func (s frailStore) Receive(ctx context.Context, flow string, r store.Receive) ([]store.Message, error) {
	if err := s.call(); err != nil {
		return nil, err
	}
	return s.Store.Receive(ctx, flow, r)
}

func (s frailStore) Commit(ctx context.Context, flow string, units ...store.Unit) ([]bool, error) {
	if err := s.call(); err != nil {
		return nil, err
	}
	return s.Store.Commit(ctx, flow, units...)
}

// Whichever call fails, who asks is told: by the error, or by what the answer says of the journal and of stages.
func TestEachFailureIsSaid(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	for what, do := range map[string]func(*Operator) (Answer, error){
		"submit": func(o *Operator) (Answer, error) { return o.Submit(ctx, "new", spec("check"), 0) },
		"update that meets another": func(o *Operator) (Answer, error) {
			w := o.at.(frailWorld)
			w.between = func() { w.others(cluster.UpdateJob{Job: "x", Spec: spec("other")}) }
			return o.Submit(ctx, "x", spec("new"), Update)
		},
		"apply":   func(o *Operator) (Answer, error) { return o.Apply(ctx, "new", spec("check"), 1) },
		"kill":    func(o *Operator) (Answer, error) { return o.Kill(ctx, "x") },
		"pause":   func(o *Operator) (Answer, error) { return o.Pause(ctx, "x") },
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
		f := &frailty{}
		for f.fails = 1; f.calls >= f.fails-1; f.fails++ {
			w, _, docs := newWorld(t)
			queue := deadLetters(t, w, docs, "x")
			pruned := spec("check")
			pruned.Source = "tasks"
			w.others(cluster.SubmitJob{Job: "x", Spec: spec("check")}, cluster.SubmitJob{Job: "y", Spec: pruned})
			must.Succeed(t, must.Err(docs.Put(ctx,
				store.Doc{Key: "source/tasks/a", Value: []byte(`{"incarnation":1}`)})))
			frail := frailStore{queue.(*memory.Store), f}
			f.calls = 0
			a, err := do(New(frailWorld{w, f}, frail, frail,
				work.Types{"check": {Name: "check", Periodic: true}}, "ann"))
			if told := cmp.Or(err, a.Unjournaled, a.Unheard); f.calls >= f.fails && !errors.Is(told, errFrail) {
				t.Errorf("%s: call %d fails, and it says %v", what, f.fails, told)
			}
			if m, _ := w.v.Member("a"); what == "evict" && f.fails < 4 && m.Draining {
				t.Error("a member is drained, and was not told before that it has to go")
			}
		}
		if f.fails < 3 {
			t.Errorf("%s makes no call", what)
		}
	}
}

// A program that is no member finds no cluster, founds one, and sees what it has said.
func TestFromOutside(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	docs := memory.New().Open()
	defer docs.Close()
	f := &frailty{}
	c := Outside(replica.Protocol{}, frailStore{docs, f}, "ann")
	o := New(c, docs, nil, nil, "ann")
	for _, f.fails = range []int{1, 3} { // of those that ask which protocol is here
		f.calls = 0
		if _, err := o.Submit(ctx, "x", spec("check"), 0); !errors.Is(err, errFrail) {
			t.Errorf("call %d fails, and it says %v", f.fails, err)
		}
	}
	if at, err := protocol.At(ctx, docs); at.Protocol != "" || err != nil {
		t.Errorf("the place has %q: %v", at.Protocol, err)
	}
	if _, err := o.Submit(ctx, "x", spec("check"), 0); err != nil {
		t.Fatal(err)
	}
	a, err := o.Pause(ctx, "x")
	v, valueErr := c.Value(ctx)
	if j, _ := v.Job("x"); err != nil || a.Unjournaled != nil || valueErr != nil || !j.Paused() {
		t.Errorf("%+v, %v; the job is %+v, %v", a, err, j, valueErr)
	}
	<-c.Changed()
	over, cancel := context.WithCancelCause(ctx)
	cancel(errFrail)
	w, _, _ := newWorld(t)
	never := New(&late{w, w.v, make(chan struct{})}, nil, nil, nil, "ann")
	if _, err := never.Submit(over, "x", spec("check"), 0); !errors.Is(err, errFrail) {
		t.Errorf("who waits no longer for what never comes: %v", err)
	}
	docs.Close()
	if err := c.Record(ctx, journal.Record{Kind: journal.Asked}); !errors.Is(err, store.ErrClosed) {
		t.Errorf("a journal that is closed: %v", err)
	}
	if _, err := c.Value(ctx); !errors.Is(err, store.ErrClosed) {
		t.Errorf("a store that is closed: %v", err)
	}
}
