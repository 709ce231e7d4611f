package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/api"
	"github.com/rota-run/rota/internal/proof/flows"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/view"
	"github.com/rota-run/rota/internal/work/supervisor"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
)

// flowing is a value with a job that is a flow of two tasks, and its queue: five segments were read, three of them are
// done, two letters are dead.
func flowing(t *testing.T) (cluster.Value, store.Queue) {
	t.Helper()
	v := after(cluster.PrepareJoin{Member: "a", Heartbeat: "p", Slots: 4},
		cluster.SubmitJob{Job: "f", Spec: flows.Spec("noop")})
	q, edge, dead := memory.New().Open(), flows.Edge, flows.Dead
	flows.Open(t, v, "f", q,
		store.Unit{Name: "1", Outputs: []store.Put{{Shard: edge, Segments: 3, Data: []byte("a")}}},
		store.Unit{Name: "2", Outputs: []store.Put{{Shard: edge, Segments: 2, Data: []byte("b")}, {Shard: edge, Seal: true}}},
		store.Unit{Inputs: []store.Message{{Shard: edge, Number: 1}}, Outputs: []store.Put{
			{Shard: dead, Segments: 1, Data: []byte("c")}, {Shard: dead, Segments: 1, Data: []byte("d")}}})
	return v, q
}

// The API shows how far a flow is, as rota job show --follow does.
func TestFlowOfJob(t *testing.T) {
	t.Parallel()
	v, q := flowing(t)
	c := api.Config{Value: func() cluster.Value { return v }, Queue: q}
	var job view.Job
	must.Succeed(t, json.Unmarshal([]byte(body(t, request(c, "GET", "/v1/job?job=f", nil))), &job))
	if job.Flow == nil || job.Flow.Unit != view.UnitSegments || len(job.Flow.Tasks) != 2 {
		t.Fatalf("the flow is %+v", job.Flow)
	}
	w := job.Flow.Tasks[1]
	if w.In != 3 || w.Pending != 2 || w.Dead != 2 || !w.Sealed || w.Complete || job.Flow.Tasks[0].Out != 5 {
		t.Errorf("the tasks are %+v", job.Flow.Tasks)
	}
	if got := [2]int{job.Flow.Tasks[0].Slots, job.Flow.Tasks[1].Slots}; got != [2]int{2, 2} {
		t.Errorf("slots %v of two tasks on four slots", got)
	}
	j, _ := v.Job("f")
	last := store.Unit{Inputs: []store.Message{{Shard: flows.Edge, Number: 2}}}
	must.Succeed(t, must.Err(q.Commit(t.Context(), supervisor.FlowName(&j), last)))
	must.Succeed(t, json.Unmarshal([]byte(body(t, request(c, "GET", "/v1/job?job=f", nil))), &job))
	if w := job.Flow.Tasks[1]; w.State != view.FlowSealing || !slices.Equal(w.Sealers, []string{"a"}) {
		t.Errorf("after the last segment: %+v", w)
	}
	c.Queue = away{q}
	if r := request(c, "GET", "/v1/job?job=f", nil); r.StatusCode != http.StatusOK ||
		!strings.Contains(body(t, r), `"flow_error":"ask how far job f is: the queue is away"`) {
		t.Errorf("a queue that is away: %s", r.Status)
	}
	if got := body(t, request(c, "GET", "/v1/status", nil)); !strings.Contains(got, `"not known: `) {
		t.Errorf("whether there are dead letters is not known, but told is %s", got)
	}
}

// away is a queue that does not answer.
type away struct{ store.Queue }

func (away) Depth(context.Context, string, ...store.Shard) ([]store.Depth, error) {
	return nil, errors.New("the queue is away")
}

// none is a queue that has no flow, and counts who asks for one.
type none struct {
	store.Queue
	asked *int
}

func (n none) Depth(context.Context, string, ...store.Shard) ([]store.Depth, error) {
	*n.asked++
	return nil, store.ErrNotFound
}

// TestAScrapeAsksForFewFlows: at most for 100 of 101, and never again for one of a completed job that has no dead
// letters.
func TestAScrapeAsksForFewFlows(t *testing.T) {
	t.Parallel()
	v, _ := flowing(t)
	for state, want := range map[cluster.JobState]int{cluster.JobRunning: 100 + 100, cluster.JobCompleted: 100 + 1} { // order-free: each by itself
		j, _ := v.Job("f")
		parts, asked := cluster.Parts{Index: 1}, 0
		for i := range 101 {
			j.ID, j.State = cluster.JobID(fmt.Sprint("f", i)), state
			parts.Jobs = append(parts.Jobs, j)
		}
		c := api.NewFlowCollector(none{asked: &asked}, func() cluster.Value { return cluster.Assemble(parts) })
		if got := testutil.ToFloat64(c); got != 1 {
			t.Errorf("%s: %v are unshown", state, got)
		}
		if testutil.CollectAndCount(c); asked != want {
			t.Errorf("%s: asked %d times in two scrapes, want %d", state, asked, want)
		}
	}
}

func TestFlowMetrics(t *testing.T) {
	t.Parallel()
	v, q := flowing(t)
	value := func() cluster.Value { return v }
	j, _ := v.Job("f")
	j.State = cluster.JobCompleted // it has dead letters, so it is shown, too
	for _, of := range []cluster.Value{v, cluster.Assemble(cluster.Parts{Index: 1, Jobs: []cluster.Job{j}})} {
		must.Succeed(t, testutil.CollectAndCompare(api.NewFlowCollector(q, func() cluster.Value { return of }),
			strings.NewReader(`# HELP rota_flow_sealed 1 if a flow task gets no more input.
# TYPE rota_flow_sealed gauge
rota_flow_sealed{job="f",task="read"} 0
rota_flow_sealed{job="f",task="write"} 1
# HELP rota_flow_segments Segments of a flow task (messages, where the queue counts those), by state: in is what it has done.
# TYPE rota_flow_segments gauge
rota_flow_segments{job="f",state="dead",task="read",unit="segments"} 0
rota_flow_segments{job="f",state="dead",task="write",unit="segments"} 2
rota_flow_segments{job="f",state="in",task="read",unit="segments"} 0
rota_flow_segments{job="f",state="in",task="write",unit="segments"} 3
rota_flow_segments{job="f",state="out",task="read",unit="segments"} 5
rota_flow_segments{job="f",state="out",task="write",unit="segments"} 0
rota_flow_segments{job="f",state="pending",task="read",unit="segments"} 0
rota_flow_segments{job="f",state="pending",task="write",unit="segments"} 2
`), "rota_flow_segments", "rota_flow_sealed"))
	}
	must.Succeed(t, testutil.CollectAndCompare(api.NewFlowCollector(q, value),
		strings.NewReader(`# HELP rota_flow_slots Slots that run a flow task.
# TYPE rota_flow_slots gauge
rota_flow_slots{job="f",task="read"} 2
rota_flow_slots{job="f",task="write"} 2
`), "rota_flow_slots"))
	c := api.NewFlowCollector(away{q}, value)
	for range 2 { // no answer says nothing for the next time
		must.Succeed(t, testutil.CollectAndCompare(c,
			strings.NewReader(`# HELP rota_flow_unshown Flows left out, because there are too many or their queue did not answer.
# TYPE rota_flow_unshown gauge
rota_flow_unshown 1
`)))
	}
}
