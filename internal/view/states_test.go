package view

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/node"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/values"
	"github.com/rota-run/rota/internal/source/directory"
	"github.com/rota-run/rota/journal"
	"github.com/rota-run/rota/protocol"
)

// Each partition is counted once, under its state.
func TestPartitionsByState(t *testing.T) {
	t.Parallel()
	for want, p := range map[TaskCounts]cluster.Partition{
		{Total: 1, Running: 1}:  {State: cluster.PartitionGranted},
		{Total: 1, Moving: 1}:   {State: cluster.PartitionGranted, Offered: true},
		{Total: 2, Moving: 2}:   {State: cluster.PartitionReleasing},
		{Total: 3, Moving: 3}:   {State: cluster.PartitionAdopting},
		{Total: 1, Waiting: 1}:  {State: cluster.PartitionWaiting},
		{Total: 1, Parked: 1}:   {State: cluster.PartitionParked},
		{Total: 1, Blocked: 1}:  {State: cluster.PartitionBlocked},
		{Total: 1, Held: 1}:     {State: cluster.PartitionHeld},
		{Total: 1, Finished: 1}: {State: cluster.PartitionFinished},
	} {
		var got TaskCounts
		for range want.Total {
			got.add(Of(cluster.Value{}).state(p))
		}
		if got != want {
			t.Errorf("%v: got %+v, want %+v", p.State, got, want)
		}
	}
	if got := memberState(cluster.Member{State: cluster.MemberHeld, Draining: true}); got != "held" {
		t.Errorf("a member that has announced a restart is %s", got)
	}
}

// Of several states of its partitions a task has the one that needs a person most.
func TestTasksByTheirPartitions(t *testing.T) {
	t.Parallel()
	for state, c := range map[string]TaskCounts{
		Done: {Total: 2, Finished: 2}, Running: {Total: 2, Finished: 1, Running: 1},
		"parked": {Total: 3, Parked: 1, Silent: 1, Running: 1}, OwnerSilent: {Total: 2, Silent: 1, BackingOff: 1},
		BackingOff: {Total: 3, BackingOff: 1, Failing: 1, Running: 1}, Failing: {Total: 2, Failing: 1, Running: 1},
		Moving: {Total: 2, Moving: 1, Held: 1}, "held": {Total: 2, Held: 1, Blocked: 1}, "waiting": {},
	} {
		if got := (&jobs{}).state(&Job{State: "running"}, &JobTask{Partitions: c}, false); got != state {
			t.Errorf("%+v: %s, want %s", c, got, state)
		}
	}
	for want, s := range map[string]Status{
		"": {Index: 3, Members: MemberCounts{Total: 1, Silent: 1}}, "there is no cluster here yet": {},
		"no member is running: nothing runs": {Index: 3}, "no member is alive: nothing runs": {Index: 3,
			Members: MemberCounts{Total: 1, Silent: 1}, Tasks: TaskCounts{Total: 1}},
	} {
		if got := s.nobody(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Of the runs of a task that fail it shows the state that needs a person most, and how often that one has failed.
func TestStatesAreCorrected(t *testing.T) {
	t.Parallel()
	v := values.After(t, cluster.Value{}, cluster.PrepareJoin{Member: "a", Heartbeat: "p"},
		cluster.SubmitJob{Job: "j", Spec: cluster.JobSpec{
			Tasks: []cluster.TaskSpec{{Type: "noop", Spread: cluster.SpreadPartitioned,
				Partitions: []string{"x", "y", "z"}}}}})
	s := Sight{v: v, runs: map[cluster.PartitionID]failingRun{}}
	for id, state := range map[cluster.PartitionID]string{"j#x": BackingOff, "j#y": Failing} {
		p, _ := v.Partition(id)
		s.runs[id] = failingRun{node.FailingRun{Partition: id, Token: p.Token, State: state, SinceMS: 5_000, Rounds: 7,
			Failures: 3, Message: "refused " + string(id)}, 9_000}
	}
	want := TaskCounts{Total: 3, Running: 1, Failing: 1, BackingOff: 1}
	_, counts := s.Counts()
	job, _ := s.Job("j")
	if st, whole := s.Status(), job.Tasks[0]; st.Tasks != want || counts != want || whole.State != BackingOff ||
		whole.Partitions != want || whole.Failures != 3 || whole.Message != "refused j#x" {
		t.Errorf("status %+v, counts %+v, job %+v", st.Tasks, counts, whole)
	}
	x, _ := v.Partition("j#y")
	x.Message, x.Attempts = "what was wrong before", 4
	task, whole := s.Task(x), JobTask{}
	if newJobs(s).count(&whole, x); task.State != Failing || task.FailingMS != 5_000 || task.AsOfMS != 9_000 ||
		task.FailureText() != "4 of 7 rounds, last: refused j#y" || whole.Message != task.Message {
		t.Errorf("got %+v, its job %+v", task, whole)
	}
	if x.Offered = true; Of(v).Task(x).State != Offered {
		t.Errorf("what is offered is %s", Of(v).Task(x).State)
	}
}

// TestPausedJobs: tasks of a paused job are paused, but for those that need a person all the same, and those that have
// yet to stop.
func TestPausedJobs(t *testing.T) {
	t.Parallel()
	job := func(id cluster.JobID, spec cluster.TaskSpec) cluster.Command {
		spec.Type = "noop"
		return cluster.SubmitJob{Job: id, Spec: cluster.JobSpec{Tasks: []cluster.TaskSpec{spec}}}
	}
	v := values.After(t, cluster.Value{}, cluster.PrepareJoin{Member: "a", Heartbeat: "p", Slots: 1},
		job("bad", cluster.TaskSpec{MaxAttempts: 1}),
		job("far", cluster.TaskSpec{Selector: []cluster.Label{{Key: "gpu", Value: "yes"}}}),
		job("runs", cluster.TaskSpec{}), job("pool", cluster.TaskSpec{Spread: cluster.SpreadPool}),
		job("rest", cluster.TaskSpec{Spread: cluster.SpreadPool}),
	)
	bad, _ := v.Partition("bad")
	next := []cluster.Command{cluster.FinishPartition{Partition: "bad", Token: bad.Token,
		Outcome: cluster.OutcomeFailed, Message: "no luck"}}
	for _, id := range []cluster.JobID{"bad", "far", "runs", "pool", "rest"} {
		next = append(next, cluster.PauseJob{Job: id, By: "ann"})
	}
	v = values.Apply(t, v, values.Entry(v, 2000, next...))
	check := func(want ...string) {
		t.Helper()
		var got []string
		for _, j := range Of(v).Jobs(nil) {
			task, ok := Of(v).taskOf(cluster.PartitionID(j.Job))
			if j.State != Paused || j.PausedMS != 2000 || j.SinceMS != 2000 || j.Ended() || !ok ||
				j.Job == "pool" && j.Tasks[0].Reason != nil { // a slot has reasons of its own
				t.Errorf("job %s is %s since %d, %d, ended: %t, %+v", j.Job, j.State, j.PausedMS, j.SinceMS, j.Ended(),
					j.Tasks)
			}
			got = append(got, fmt.Sprintf("%s %s %s", j.Job, j.Tasks[0].State, task.State))
		}
		if !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	check("bad parked parked", "far paused paused", "pool moving paused", "rest paused paused", "runs moving moving")
	dead := Sight{v: v, beats: map[cluster.MemberID]Heartbeat{"a": {State: HeartbeatGone}}}
	for p := range v.Partitions() {
		if p.State == cluster.PartitionReleasing {
			if got := dead.state(p); got != OwnerSilent {
				t.Errorf("%s of a dead member is %s", p.ID, got)
			}
			v = values.After(t, v, cluster.Stopped{Partition: p.ID, Token: p.Token})
		}
	}
	check("bad parked parked", "far paused paused", "pool paused paused", "rest paused paused", "runs paused paused")
	if s := Of(v).Status(); s.Tasks != (TaskCounts{Total: 3, Parked: 1, Paused: 2}) {
		t.Errorf("got %+v", s.Tasks)
	}
}

// Metrics say of each state what the status does: what is paused does not wait, what is offered does not run, and
// Rota's own tasks are not counted.
func TestMetricsSayWhatTheStatusSays(t *testing.T) {
	t.Parallel()
	task := func(id cluster.JobID, spec cluster.TaskSpec) cluster.Command {
		spec.Type = "noop"
		return cluster.SubmitJob{Job: id, Spec: cluster.JobSpec{Tasks: []cluster.TaskSpec{spec}}}
	}
	far := cluster.TaskSpec{Selector: []cluster.Label{{Key: "gpu", Value: "yes"}}}
	v := values.After(t, cluster.Value{}, cluster.PrepareJoin{Member: "a", Heartbeat: "p"},
		cluster.PrepareJoin{Member: "b", Heartbeat: "q"},
		cluster.AcceptJoin{Member: "b", Incarnation: 2, By: "a", ByIncarnation: 1},
		cluster.DrainMember{Member: "b", On: true}, task("rota.source.tasks", cluster.TaskSpec{}),
		task("runs", cluster.TaskSpec{}), task("far", far), task("rests", far),
		cluster.PauseJob{Job: "rests", By: "ann"},
	)
	var got []string
	for _, m := range Metrics(v) {
		for _, x := range m.Values {
			if x.Value != 0 {
				got = append(got, fmt.Sprint(m.Name, " ", x.Label, " ", x.Value))
			}
		}
	}
	want := []string{
		"rota_cluster_members joined 1", "rota_cluster_members draining 1", "rota_cluster_partitions waiting 1",
		"rota_cluster_partitions granted 1", "rota_cluster_partitions paused 1",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A reason names a source that no member has, and not the label that its task asks for.
func TestASourceThatNobodyHas(t *testing.T) {
	t.Parallel()
	v := values.After(t, cluster.Value{}, cluster.PrepareJoin{Member: "a", Heartbeat: "p"}, directory.Job("x"))
	if r := reasonOf(v, "rota.source.x"); r == nil || r.Rule != "source" || r.Text != "no member has the source x" ||
		!strings.HasPrefix(r.Try, "start a member that has it") {
		t.Errorf("got %+v", r)
	}
	if p := Of(v).Status().Problems; len(p) != 0 {
		t.Errorf("nothing comes from the source, and its absence is a problem: %+v", p)
	}
	v = values.After(t, v, cluster.SubmitJob{Job: "y", Spec: cluster.JobSpec{Source: "x",
		Tasks: []cluster.TaskSpec{{Type: "noop"}}}})
	if p := Of(v).Status().Problems; len(p) != 1 || p[0].Task != "rota.source.x" {
		t.Errorf("a job comes from the source: %+v", p)
	}
	v = values.After(t, v, cluster.KillJob{Job: "y"})
	if p := Of(v).Status().Problems; len(p) != 0 {
		t.Errorf("its last job was killed: %+v", p)
	}
}

// A plan shows who drains, and weights as they count.
func TestThePlannedMembers(t *testing.T) {
	t.Parallel()
	v := values.After(t, cluster.Value{},
		cluster.PrepareJoin{Member: "a", Heartbeat: "p"}, cluster.PrepareJoin{Member: "b", Heartbeat: "q", Weight: 50},
		cluster.AcceptJoin{Member: "b", Incarnation: 2, By: "a", ByIncarnation: 1},
		cluster.SubmitJob{Job: "x",
			Spec: cluster.JobSpec{Tasks: []cluster.TaskSpec{{Type: "noop", Handover: cluster.HandoverNoGap}}}},
		cluster.DrainMember{Member: "a", On: true},
	)
	if m := Of(v).Members(); m[0].Tasks != 1 || m[0].Leaving != 1 || m[1].Tasks != 0 {
		t.Errorf("before the hand-over: %+v", m)
	}
	p, err := PlanWithout(v, nil)
	var got []string
	for _, m := range p.Members {
		got = append(got, fmt.Sprintf("%s %s %d", m.Member, m.State, m.Weight))
	}
	if err != nil || !slices.Equal(got, []string{"a draining 100", "b joined 50"}) {
		t.Errorf("got %q, %v", got, err)
	}
	v = values.After(t, settled(v), cluster.LeaveCluster{Member: "b", Incarnation: 2, Hold: true},
		cluster.DrainMember{Member: "a"})
	if p, err := PlanWithout(v, []cluster.MemberID{"b"}); err != nil || p.Tasks != 1 || len(p.Moves) != 1 ||
		len(p.Members) != 1 {
		t.Errorf("without one that has announced a restart: %+v, %v", p, err)
	}
}

// The last word of the journal decides about what is gone, also where records of another kind follow it.
func TestWhyOfWhatIsGone(t *testing.T) {
	t.Parallel()
	for words, want := range map[string]string{
		"moved moved":                           Gone,
		"malformed-task-error moved moved":      Malformed,
		"moved recovered moved":                 Gone,
		"recovered malformed-task-error moved":  Malformed,
		"malformed-task-error recovered parked": Gone,
	} {
		var records []journal.Record
		for kind := range strings.FieldsSeq(words) {
			records = append(records, journal.Record{Kind: journal.Kind(kind), Partition: "x"})
		}
		if w, ok := Of(cluster.Value{}).Why("x", records); !ok || w.State != want {
			t.Errorf("%s: got %q, want %q", words, w.State, want)
		}
	}
}

func TestFailureTexts(t *testing.T) {
	t.Parallel()
	for want, task := range map[string]Task{
		"":                               {State: Failing},
		"0 of 1 rounds":                  {State: Failing, Rounds: 1},
		"failed once":                    {State: Failing, Failures: 1},
		"failed 2 times, last: no":       {State: BackingOff, Failures: 2, Rounds: 5, Message: "no"},
		"2 of 3 rounds, last: no answer": {State: Failing, Failures: 2, Rounds: 3, Message: "no answer"},
	} {
		if got := task.FailureText(); got != want {
			t.Errorf("%+v: %q, want %q", task, got, want)
		}
	}
	for n, want := range []string{"", "; nobody runs its task; 1 task waits for it",
		"; nobody runs its 2 tasks; 2 tasks wait for it"} {
		if got := tasksText(n) + heldText(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}

// A heartbeat is lost when it is older than its TTL, not at its age; one without a TTL or a time says nothing of it.
func TestHeartbeatsAtTheirTTL(t *testing.T) {
	t.Parallel()
	wall := time.UnixMilli(100_000)
	for _, c := range []struct {
		silent  time.Duration
		doc     string
		renewed bool
		want    string
	}{
		{10 * time.Second, `{"at_ms":90000,"ttl_ms":10000}`, false, HeartbeatPresent},
		{10 * time.Second, `{"at_ms":89999,"ttl_ms":10000}`, false, HeartbeatLate},
		{10 * time.Second, `{"at_ms":89999,"ttl_ms":10000}`, true, HeartbeatRenewed},
		{10*time.Second + time.Millisecond, `{"at_ms":90000,"ttl_ms":10000}`, true, HeartbeatSilent},
		{time.Hour, `{"at_ms":1}`, false, HeartbeatPresent},
		{0, `{"ttl_ms":10000}`, false, HeartbeatPresent},
		{time.Hour, `damaged`, true, HeartbeatRenewed},
	} {
		s := sign{version: "1", since: 1, renewed: c.renewed}
		if got := s.heartbeat(s.since.Add(c.silent), wall, []byte(c.doc)); got.State != c.want {
			t.Errorf("%s after %s: %s, want %s", c.doc, c.silent, got.State, c.want)
		}
	}
	silent := Heartbeat{State: HeartbeatSilent, SilentMS: 11_999}
	late := Heartbeat{State: HeartbeatLate, AtMS: 88_500}
	if s, l := silent.problem(), late.problem(); s != HeartbeatSilent || l != HeartbeatSilent {
		t.Errorf("they are listed as %s and %s", s, l)
	}
	if s, l := silent.Text(wall), late.Text(wall); s != "not renewed for 11 s: probably dead" ||
		l != "last heartbeat about 11 s ago by its own clock: probably dead" {
		t.Errorf("%q, %q", s, l)
	}
	if age := (Heartbeat{AtMS: 200_000}).Age(wall); age != 0 {
		t.Errorf("a heartbeat of the future is %s old", age)
	}
}

// kept is a log that holds these values, one of which each entry made.
type kept []cluster.Value

func (k kept) Oldest(context.Context, protocol.Store) (cluster.Value, error) { return k[0], nil }

func (k kept) History(_ context.Context, _ protocol.Store, after cluster.Index,
	yield func(cluster.Value, protocol.Applied) bool) error {
	for _, v := range k {
		if v.Index() > after && !yield(v, protocol.Applied{Entry: cluster.Entry{Index: v.Index(), AtMS: 9}}) {
			break
		}
	}
	return nil
}

// A change shows the value before and after it, also between positions that hold no entry. A leader that has left is
// not shown.
func TestWhatChanged(t *testing.T) {
	t.Parallel()
	job := cluster.JobSpec{Tasks: []cluster.TaskSpec{{Type: "noop", Pin: "a"}}}
	first := values.After(t, cluster.Value{}, cluster.Lead{Member: "b", Term: 1},
		cluster.PrepareJoin{Member: "a", Heartbeat: "p"}, cluster.PrepareJoin{Member: "b", Heartbeat: "q"},
		cluster.SubmitJob{Job: "x", Spec: job})
	last := values.After(t, first, cluster.LeaveCluster{Member: "b", Incarnation: 3}, cluster.KillJob{Job: "x"},
		cluster.SubmitJob{Job: "y", Spec: job}, cluster.SubmitJob{Job: "rota.z", Spec: job},
		cluster.PrepareJoin{Member: "c", Heartbeat: "r"})
	p := &Past{Historian: kept{first, last}}
	d := must.Get(p.Diff(t.Context(), first.Index(), last.Index()))(t)
	got := fmt.Sprint(d.From.Index, d.To.Index, d.Jobs)
	for _, m := range d.Members {
		got += fmt.Sprintf(" %s %t %t", m.Member, m.Before != nil, m.After != nil)
	}
	for _, x := range d.Tasks {
		got += fmt.Sprintf(" %s %t %t", x.Task, x.Before != nil, x.After != nil)
	}
	if want := "4 9 [{x running killed} {y  running}] a true true b true false c false true x true false y false true"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	m, err := p.At(t.Context(), last.Index()-1)
	if err != nil || m.Index != 8 || m.Oldest.Index != 4 || m.Newest != (Point{Index: 9, AtMS: 9}) || m.Total != 1 {
		t.Errorf("between two entries: %+v, %v", m, err)
	}
	if m, err := p.At(t.Context(), last.Index()); err != nil || fmt.Sprint(m.Jobs) != "[x y]" {
		t.Errorf("jobs of clients: %v, %v", m.Jobs, err)
	}
	if d, err := p.Diff(t.Context(), last.Index(), first.Index()); err == nil {
		t.Errorf("a difference that goes back is %+v", d)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if m, err := p.AsOf(over, 9); !errors.Is(err, context.Canceled) {
		t.Errorf("a walk through the log that was cut short shows %+v, %v", m, err)
	}
	if before, after := leaderOf(first), leaderOf(last); before == nil || before.Member != "b" || after != nil {
		t.Errorf("the leaders are %+v, and then %+v", before, after)
	}
}
