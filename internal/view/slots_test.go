package view

import (
	"slices"
	"testing"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/schedule"
)

// A task of spread pool is explained as a whole: by its slots, or why it has none.
func TestWhyOfATaskOnSlots(t *testing.T) {
	t.Parallel()
	v := cluster.Value{}
	spec := cluster.JobSpec{Workflow: cluster.Workflow{Scheduler: schedule.TasksGreedy}}
	for _, name := range []string{"read", "write"} {
		spec.Tasks = append(spec.Tasks, cluster.TaskSpec{Name: name, Type: "noop", Spread: cluster.SpreadPool})
	}
	apply := func(c cluster.Command) {
		i := v.Index() + 1
		next, did := v.Apply(cluster.Entry{Index: i, Writer: "w", Seq: uint64(i), AtMS: 1000, Commands: []cluster.Command{c}})
		if !did.Results[0].Accepted {
			t.Fatal(did.Results[0].Reason)
		}
		v = next
	}
	check := func(id, state, rule string, slots ...string) {
		t.Helper()
		w, ok := Of(v).Why(cluster.PartitionID(id), nil)
		got := ""
		if w.Reason != nil {
			got = w.Reason.Rule
		}
		if !ok || w.State != state || got != rule || !slices.Equal(w.Slots, slots) || w.Type != "noop" || w.Spread != "pool" {
			t.Errorf("%s: %+v, reason %v", id, w, w.Reason)
		}
	}
	apply(cluster.PrepareJoin{Member: "a", Heartbeat: "p", Slots: 2})
	apply(cluster.SubmitJob{Job: "etl", Spec: spec})
	check("etl/read", "running", "", "a:1", "a:2")
	check("etl/read#a:1", "running", "")
	check("etl/write", "waiting", "order")
	apply(cluster.FinishPartition{Partition: "etl/read#a:1", Token: 2})
	check("etl/read", "finished", "")
	check("etl/write", "running", "", "a:1")
	if m := Of(v).Members(); m[0].SlotsTaken != 2 || m[0].Slots != 2 {
		t.Errorf("%+v", m[0])
	}
	apply(cluster.SubmitJob{Job: "big", Spec: cluster.JobSpec{
		Tasks: []cluster.TaskSpec{{Type: "noop", Spread: cluster.SpreadPool, Min: 3}}, Workflow: cluster.Workflow{Coverage: true},
	}})
	apply(cluster.SubmitJob{Job: "frail", Spec: cluster.JobSpec{Tasks: []cluster.TaskSpec{{Type: "noop", Spread: cluster.SpreadPool, MaxAttempts: 1}}}})
	if got := Of(v).Status().Problems; len(got) != 1 || got[0].Task != "big" {
		t.Errorf("what waits for a slot to be handed over is a problem: %+v", got)
	}
	for range 2 { // one that was given away stops; then the new job has it, and fails
		for p := range v.Partitions() {
			switch job, _, _ := p.ID.Split(); {
			case p.State == cluster.PartitionReleasing:
				apply(cluster.Stopped{Partition: p.ID, Token: p.Token})
			case job == "frail":
				apply(cluster.FinishPartition{Partition: p.ID, Token: p.Token, Outcome: cluster.OutcomeFailed, Message: "no luck"})
			}
		}
	}
	var told []string
	for _, p := range Of(v).Status().Problems {
		told = append(told, p.State+" "+p.Task+" "+p.Text)
	}
	want := []string{"waiting big coverage: it needs 3 slots, 1 of 2 is left to it", "failed frail frail#a:2 failed once: no luck"}
	if !slices.Equal(told, want) {
		t.Errorf("problems %q, want %q", told, want)
	}
	apply(cluster.KillJob{Job: "etl"})
	check("etl/write", "killed", "")
	if _, ok := Of(v).Why("etl/nothing", nil); ok {
		t.Error("there is no such task")
	}
}

// What a batch holds back is no problem that a person must look at; it is told where one asks.
func TestABatchIsNoProblem(t *testing.T) {
	t.Parallel()
	spec := cluster.JobSpec{Workflow: cluster.Workflow{Batch: true, Edges: []cluster.Edge{{From: "read", To: "write"}}}}
	for _, name := range []string{"read", "write"} {
		spec.Tasks = append(spec.Tasks, cluster.TaskSpec{Name: name, Type: "noop", Spread: cluster.SpreadPool})
	}
	v, did := cluster.Value{}.Apply(cluster.Entry{Index: 1, Writer: "w", Seq: 1, Commands: []cluster.Command{
		cluster.PrepareJoin{Member: "a", Heartbeat: "p", Slots: 2}, cluster.SubmitJob{Job: "etl", Spec: spec},
	}})
	if !did.Results[1].Accepted {
		t.Fatal(did.Results[1].Reason)
	}
	if got := Of(v).Status().Problems; len(got) != 0 {
		t.Errorf("problems %+v", got)
	}
	job, _ := Of(v).Job("etl")
	if job.State != "running" || job.Tasks[0].State != Running || len(job.Tasks[0].Slots) != 2 || job.Tasks[1].State != "waiting" ||
		job.Tasks[1].Reason == nil || job.Tasks[1].Reason.Rule != "after" || !slices.Equal(job.Tasks[1].After, []string{"read"}) {
		t.Errorf("got %+v", job)
	}
	if w, ok := Of(v).Why("etl/write", nil); !ok || w.Reason == nil || w.Reason.Rule != "after" {
		t.Errorf("got %+v", w.Reason)
	}
}
