package view_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/node"
	"github.com/rota-run/rota/internal/proof/flows"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/store/faults"
	"github.com/rota-run/rota/internal/view"
	"github.com/rota-run/rota/internal/work/supervisor"
	"github.com/rota-run/rota/journal"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// A viewer says all that the store has beside the value. Whichever call fails, it says that it does not know.
func TestWhatAViewerAdds(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	p := newPlayed(t)
	p.flows("flow", true)
	x := p.submit("x", cluster.TaskSpec{Definition: []byte(`{"every_ms":3600000}`)})
	p.write(node.FailingPrefix+string(x.Owner), node.Failing{Member: string(x.Owner),
		Runs: []node.FailingRun{{Partition: "x", Token: x.Token, State: view.Failing, Failures: 1}}})
	p.write("position/x", map[string]any{"partition": "x", "token": 1, "round_ms": time.Now().UnixMilli()})
	j, _ := p.f.v.Job("flow")
	must.Succeed(t, must.Err(p.docs.Commit(ctx, supervisor.FlowName(&j), store.Unit{Name: "end",
		Outputs: []store.Put{{Shard: store.Shard{Edge: "end/write"}, Data: []byte("c")}}})))
	past := []journal.Record{{Kind: journal.Malformed, Partition: "x", AtMS: time.Now().UnixMilli()}}
	p.append(past[0])
	p.append(journal.Record{Kind: journal.Moved, Partition: "x", AtMS: time.Now().Add(-59 * time.Minute).UnixMilli()})
	p.beat("a", 0)
	p.beat("b", 0)
	for want, do := range map[string]func(view.Viewer, view.Sight) (any, error){
		`"malformed":1,"differing":0,"dead_letters":2`: func(w view.Viewer, s view.Sight) (any, error) {
			st, err := w.Status(ctx, s)
			if err == nil && st.Moves.LastHour != 1 {
				t.Errorf("it moved 59 minutes ago: %+v", *st.Moves)
			}
			return st, err
		},
		`"malformed":{"rule":"malformed"`: func(w view.Viewer, s view.Sight) (any, error) {
			why, _, err := w.Why(ctx, s, "x", past)
			if err == nil && (why.State != view.Failing || why.LastRoundMS == 0 ||
				why.NextRoundMS-why.LastRoundMS != 3_600_000) {
				t.Errorf("it is %s, rounds at %d and %d", why.State, why.LastRoundMS, why.NextRoundMS)
			}
			return why, err
		},
		`"waits":"for the lease of c to end, which began to seal the output; for a slot: nobody runs it"`: func(
			w view.Viewer, s view.Sight) (any, error) {
			why, _, err := w.Why(ctx, s, "flow/write", nil)
			return why, err
		},
	} { // order-free: each by itself
		fails := 0
		for calls := 0; calls >= fails; {
			fails, calls = fails+1, 0
			plan := func(faults.Call) faults.Outcome {
				if calls++; calls == fails {
					return faults.Refused
				}
				return faults.Pass
			}
			docs := faults.NewFaulty(p.docs, plan)
			w := view.Viewer{Journal: journal.NewDocs(docs, "a", 0), Queue: faults.FaultyQueue{Queue: p.docs, Plan: plan},
				Lookout: view.NewLookout(docs, func() protocol.Instant { return 1 })}
			s, err := w.Look(ctx, p.f.v)
			var got any
			if err == nil {
				got, err = do(w, s)
			}
			said := string(must.Get(json.Marshal(got))(t))
			if calls < fails && (err != nil || !strings.Contains(said, want)) {
				t.Errorf("%v: %s, want %s", err, said, want)
			}
			if calls >= fails && !errors.Is(err, store.ErrUnavailable) && !strings.Contains(said, "store unavailable") {
				t.Errorf("call %d fails, and it says %s", fails, said)
			}
		}
	}
	alone := must.Get(view.Viewer{}.Look(ctx, p.f.v))(t)
	if st, err := (view.Viewer{}).Status(ctx, alone); err != nil || st.Moves != nil || st.DeadLetters != 0 {
		t.Errorf("a value alone says %+v, %v", st, err)
	}
	p.f.apply(cluster.SubmitJob{Job: "new", Spec: flows.Spec("noop")}) // nobody has begun it
	for _, id := range []cluster.JobID{"none", "new"} {
		if f, err := view.FlowOf(ctx, p.docs, p.f.v, id); f != nil || err != nil {
			t.Errorf("job %s has the flow %+v, %v", id, f, err)
		}
	}
}
