package operate

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/flows"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/store/faults"
	"github.com/rota-run/rota/internal/work/stage"
	"github.com/rota-run/rota/internal/work/supervisor"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/work"
)

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
