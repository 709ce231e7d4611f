package operate

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/store/faults"
	"github.com/rota-run/rota/internal/work/stage"
	"github.com/rota-run/rota/internal/work/supervisor"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
	"github.com/rota-run/rota/work"
)

// deadLetters submits a flow of two tasks, and writes dead letters of the second; one without a text is damaged.
func deadLetters(t *testing.T, w *world, docs store.Docs, texts ...string) store.Queue {
	t.Helper()
	task := func(name, from string) cluster.TaskSpec {
		return cluster.TaskSpec{Name: name, Type: "check", Spread: cluster.SpreadPool,
			Definition: []byte(`{"from":[` + from + `]}`)}
	}
	spec := cluster.JobSpec{Tasks: []cluster.TaskSpec{task("read", ""), task("write", `{"task":"read"}`)}}
	spec.Edges = []cluster.Edge{{From: "read", To: "write"}}
	w.others(cluster.SubmitJob{Job: "etl", Spec: spec})
	j, _ := w.v.Job("etl")
	graph := must.Get(supervisor.GraphOf(&j))(t)
	var shards []store.Shard
	for _, s := range graph.Shards() {
		shards = append(shards, store.Shard(s))
	}
	flow, queue := supervisor.FlowName(&j), docs.(store.Queue)
	must.Succeed(t, queue.MakeFlow(t.Context(), flow, shards))
	for _, text := range texts {
		letter, err := json.Marshal(stage.Letter{Error: "no luck", Edge: "edge/read/write", Text: text, Segments: 1})
		must.Succeed(t, err)
		if text == "" {
			letter = []byte("damaged")
		}
		unit := store.Unit{Outputs: []store.Put{{Shard: store.Shard{Edge: "dead/write"}, Segments: 1, Data: letter}}}
		unit.Name = "dead" + text
		must.Succeed(t, must.Err(queue.Commit(t.Context(), flow, unit)))
	}
	return queue
}

// TestANoteThatFailsIsSaid: the dead letter is back, that is no error, the journal has it, and the answer says that
// idle tasks were not told.
func TestANoteThatFailsIsSaid(t *testing.T) {
	t.Parallel()
	for name, fails := range map[string]bool{"told": false, "not told": true} { // order-free: each by itself
		w, _, docs := newWorld(t)
		queue := deadLetters(t, w, docs, "x")
		faulty := faults.NewFaulty(docs.(*memory.Store), nil)
		if fails {
			faulty.SetPlan(must.Get(faults.Script("refuse put"))(t))
		}
		o := New(w, faulty, queue, work.Types{}, "ann")
		w.told = nil
		n, a, err := o.RetryDead(t.Context(), "etl")
		if n != 1 || !a.Changed || err != nil || len(w.told) != 1 || w.told[0].Message != "retry-dead etl: 1" {
			t.Errorf("%s: %d, %+v, %v; the journal has %v", name, n, a, err, w.told)
		}
		if (a.Unheard != nil) != fails || fails && !errors.Is(a.Unheard, store.ErrUnavailable) {
			t.Errorf("%s: %v", name, a.Unheard)
		}
		if d, err := docs.Get(t.Context(), "flow-bell"); !fails &&
			(err != nil || !strings.Contains(string(d.Value), `"etl@`)) {
			t.Errorf("the note says %s, %v", d.Value, err)
		}
	}
}

// TestALetterThatStays: what was put back before it is in the journal, and it may be dropped at once.
func TestALetterThatStays(t *testing.T) {
	t.Parallel()
	w, _, docs := newWorld(t)
	queue := deadLetters(t, w, docs, "x", "")
	o := New(w, docs, queue, work.Types{}, "ann")
	w.told = nil
	n, _, err := o.RetryDead(t.Context(), "etl")
	if n != 1 || err == nil || len(w.told) != 1 || w.told[0].Message != "retry-dead etl: 1" {
		t.Errorf("%d, %v; the journal has %v", n, err, w.told)
	}
	if n, _, err = o.DropDead(t.Context(), "etl"); n != 1 || err != nil {
		t.Errorf("%d are dropped, %v", n, err)
	}
	w.told = nil
	if n, a, err := o.DropDead(t.Context(), "etl"); n != 0 || a.Changed || err != nil || w.told != nil {
		t.Errorf("where there are none: %d, %+v, %v; the journal has %v", n, a, err, w.told)
	}
	j, _ := w.v.Job("etl")
	edge := store.Shard{Edge: "edge/read/write"}
	if d, err := queue.Depth(t.Context(), supervisor.FlowName(&j), edge); err != nil || d[0].Segments != 1 {
		t.Errorf("what was put back counts as %+v, %v", d, err)
	}
	w.others(cluster.SubmitJob{Job: "plain", Spec: spec("check")})
	for id, o := range map[cluster.JobID]*Operator{"plain": o, "etl": New(w, docs, nil, work.Types{}, "ann")} {
		if _, _, err := o.DropDead(t.Context(), id); !errors.Is(err, ErrRefused) ||
			!strings.Contains(err.Error(), "is no flow") {
			t.Errorf("%s: %v", id, err)
		}
	}
}
