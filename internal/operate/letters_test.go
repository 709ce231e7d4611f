package operate

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/flows"
	"github.com/rota-run/rota/internal/proof/must"
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
		letter, err := json.Marshal(stage.Letter{Error: "no luck", Edge: "edge/read/write", Text: text, Segments: 1})
		must.Succeed(t, err)
		if text == "" {
			letter = []byte("damaged")
		}
		units = append(units, store.Unit{Name: "dead" + text,
			Outputs: []store.Put{{Shard: flows.Dead, Segments: 1, Data: letter}}})
	}
	queue := docs.(store.Queue)
	flows.Open(t, w.v, "etl", queue, units...)
	return queue
}

// TestALetterThatStays: what was put back before it is in the journal, idle tasks are told, and it may be dropped at
// once.
func TestALetterThatStays(t *testing.T) {
	t.Parallel()
	w, _, docs := newWorld(t)
	queue := deadLetters(t, w, docs, "x", "")
	o := New(w, docs, queue, work.Types{}, "ann")
	w.told = nil
	n, a, err := o.RetryDead(t.Context(), "etl")
	if n != 1 || !a.Changed || err == nil || len(w.told) != 1 || w.told[0].Message != "retry-dead etl: 1" {
		t.Errorf("%d, %+v, %v; the journal has %v", n, a, err, w.told)
	}
	if d, err := docs.Get(t.Context(), "flow-bell"); err != nil || !strings.Contains(string(d.Value), `"etl@`) {
		t.Errorf("idle tasks were told %s, %v", d.Value, err)
	}
	if n, _, err = o.DropDead(t.Context(), "etl"); n != 1 || err != nil {
		t.Errorf("%d are dropped, %v", n, err)
	}
	w.told = nil
	if n, a, err := o.DropDead(t.Context(), "etl"); n != 0 || a.Changed || err != nil || w.told != nil {
		t.Errorf("where there are none: %d, %+v, %v; the journal has %v", n, a, err, w.told)
	}
	j, _ := w.v.Job("etl")
	if d, err := queue.Depth(t.Context(), supervisor.FlowName(&j), flows.Edge); err != nil || d[0].Segments != 1 {
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
