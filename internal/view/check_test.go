package view_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/node"
	"github.com/rota-run/rota/internal/proof/flows"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/protocol/fold"
	"github.com/rota-run/rota/internal/source/directory"
	"github.com/rota-run/rota/internal/view"
	"github.com/rota-run/rota/journal"
	"github.com/rota-run/rota/store"
)

// played is a cluster of members a and b that renew their heartbeats, and a journal.
type played struct {
	*scene
	f       *folded
	records journal.Journal
	quiet   string // the member that does not renew its heartbeat
	none    string // the member that has none
	log     store.Log
}

// lostLog is a log of which nothing is left but its head.
type lostLog struct {
	store.Log
	head    uint64
	trimmed bool
}

func (l lostLog) Read(context.Context, uint64, int) (store.Page, error) {
	if l.trimmed {
		return store.Page{}, store.ErrTruncated
	}
	return store.Page{Head: l.head}, nil
}

func (lostLog) Snapshot(context.Context) (store.Record, error) {
	return store.Record{}, store.ErrNotFound
}

func newPlayed(t *testing.T) *played {
	t.Helper()
	p := &played{scene: newScene(t), f: &folded{}}
	p.records = journal.NewDocs(p.docs, "a", 0)
	for _, m := range []cluster.MemberID{"a", "b"} {
		p.f.join(m, cluster.PrepareJoin{Capacity: 3, Slots: 2,
			Labels: []cluster.Label{{Key: directory.LabelKey("tasks"), Value: "yes"}}})
	}
	return p
}

// wrong is what rota status --check says after it has seen who renews its heartbeat; or the error of the store.
func (p *played) wrong() string {
	p.t.Helper()
	p.v = p.f.v
	w := view.Viewer{Lookout: p.lookout, Journal: p.records, Queue: p.docs}
	var sight view.Sight
	for range 3 {
		for m := range p.v.Members() {
			if id := string(m.ID); id != p.none && (id != p.quiet || p.now == 1) {
				p.beat(id, 0)
			}
		}
		var err error
		if p.log != nil {
			if p.v, err = fold.Observe(p.t.Context(), p.log, p.v); err != nil {
				return err.Error()
			}
		}
		if sight, err = w.Look(p.t.Context(), p.v); err != nil {
			return err.Error()
		}
		p.now = p.now.Add(6 * time.Second)
	}
	st, err := w.Status(p.t.Context(), sight)
	if err != nil {
		return err.Error()
	}
	if n := len(st.Problems); st.Problems == nil || n > view.MaxProblems || n == view.MaxProblems && st.More != 9 ||
		st.Differing > 0 && st.Problems[0].State != view.SourcesDiffer {
		p.t.Errorf("not at most 100 of 109 problems, the sources first: %d, and %d more", n, st.More)
	}
	for _, told := range st.Problems {
		if told.State == "" || told.Task+told.Member == "" || told.Text == "" || told.Try == "" ||
			strings.HasPrefix(told.Text, "not known") {
			p.t.Errorf("a problem without what it is, of whom, why, or what to do: %+v", told)
		}
	}
	wrong := strings.Join(st.Wrong(), ", ")
	if wrong != "" && len(st.Problems) == 0 && st.Nobody == "" {
		p.t.Errorf("no problem is listed, and the check says %s", wrong)
	}
	return wrong
}

func (p *played) submit(id cluster.JobID, spec cluster.TaskSpec) cluster.Partition {
	p.t.Helper()
	spec.Type = "noop"
	p.f.apply(cluster.SubmitJob{Job: id, Spec: cluster.JobSpec{Tasks: []cluster.TaskSpec{spec}}})
	partition, _ := p.f.v.Partition(cluster.PartitionID(id))
	return partition
}

// fails writes what a member says of its task in that state, and of so many more.
func (p *played) fails(state string, more int) {
	t := p.submit("sick", cluster.TaskSpec{})
	f := node.Failing{Member: string(t.Owner), AtMS: 1,
		Runs: []node.FailingRun{{Partition: "sick", Token: t.Token, State: state, Rounds: 2, Failures: 1}}}
	if f.Failing = 1 + more; state == view.BackingOff {
		f.Failing, f.BackingOff = 0, 1
	}
	for len(f.Runs) < node.MaxFailing && more > 0 {
		f.Runs = append(f.Runs, node.FailingRun{Partition: cluster.PartitionID(fmt.Sprint("gone", len(f.Runs))),
			State: view.BackingOff})
	}
	p.write(node.FailingPrefix+f.Member, f)
}

func (p *played) park() {
	t := p.submit("parks", cluster.TaskSpec{MaxAttempts: 1})
	p.f.apply(cluster.FinishPartition{Partition: t.ID, Token: t.Token, Outcome: cluster.OutcomeFailed,
		Message: "no luck"})
}

// differ lets each member have another file of the source.
func (p *played) differ() {
	for i, m := range []cluster.MemberID{"a", "b"} {
		has, _ := p.f.v.Member(m)
		id := cluster.JobID(fmt.Sprint("task", i))
		p.write("source/tasks/"+string(m), directory.Inventory{Incarnation: has.Incarnation, Count: 1, IDs: string(id),
			Sum: string(id), Names: map[cluster.JobID]string{id: "x"}})
	}
}

// kill lets three members die in a row while they run a task; two others stay.
func (p *played) kill() {
	for _, id := range []cluster.MemberID{"c", "d", "e"} {
		p.f.join(id, cluster.PrepareJoin{Capacity: 3})
	}
	p.submit("deadly", cluster.TaskSpec{MaxAttempts: 9})
	for range 3 {
		t, _ := p.f.v.Partition("deadly")
		m, _ := p.f.v.Member(t.Owner)
		p.f.apply(cluster.LeaveCluster{Member: m.ID, Incarnation: m.Incarnation, Reason: "no heartbeat", Died: true})
	}
}

// flows runs a flow of two tasks and one segment to its end; with dead, the second task could not work on it.
func (p *played) flows(id cluster.JobID, dead bool) {
	p.t.Helper()
	p.f.apply(cluster.SubmitJob{Job: id, Spec: flows.Spec("noop")})
	second := store.Unit{Inputs: []store.Message{{Shard: flows.Edge, Number: 1}}}
	if dead {
		for _, task := range []string{"read", "write"} {
			second.Outputs = append(second.Outputs, store.Put{Shard: store.Shard{Edge: "dead/" + task}, Segments: 1,
				Data: []byte("a")})
		}
	}
	first := store.Unit{Name: "1", Outputs: []store.Put{{Shard: flows.Edge, Segments: 1, Data: []byte("a")},
		{Shard: flows.Edge, Seal: true}}}
	flows.Open(p.t, p.f.v, id, p.docs, first, second)
	for _, task := range []string{"read", "write"} {
		for t := range p.f.v.Partitions() {
			if _, name, _ := t.ID.Split(); name == task {
				p.f.apply(cluster.FinishPartition{Partition: t.ID, Token: t.Token, Outcome: cluster.OutcomeDone})
			}
		}
	}
	if j, _ := p.f.v.Job(id); j.State != cluster.JobCompleted {
		p.t.Fatalf("the flow is %s", j.State)
	}
}

// leave lets a member leave; with hold it has announced a restart.
func (p *played) leave(id cluster.MemberID, hold bool) {
	m, _ := p.f.v.Member(id)
	p.f.apply(cluster.LeaveCluster{Member: id, Incarnation: m.Incarnation, Reason: "left", Hold: hold})
}

// A check says what is broken, and nothing in scenes that are healthy.
func TestCheckFailsInBrokenScenes(t *testing.T) {
	t.Parallel()
	gpu := cluster.TaskSpec{Selector: []cluster.Label{{Key: "gpu", Value: "yes"}}}
	for name, c := range map[string]struct {
		scene func(*played)
		want  string
	}{
		"a malformed file": {func(p *played) {
			p.append(journal.Record{Kind: journal.Malformed, Partition: "never", AtMS: time.Now().UnixMilli(),
				Message: "unknown field"})
		}, "malformed: 1"},
		"a failing check":               {func(p *played) { p.fails(view.Failing, 0) }, "failing: 1"},
		"more fail than a member lists": {func(p *played) { p.fails(view.Failing, 70) }, "failing: 71"},
		"a task that is tried again":    {func(p *played) { p.fails(view.BackingOff, 0) }, "backing off: 1"},
		"no member has the label":       {func(p *played) { p.submit("gpu", gpu) }, "tasks without a live owner: 1"},
		"no member has room": {func(p *played) {
			for i := range 7 {
				p.submit(cluster.JobID(fmt.Sprint("task", i)), cluster.TaskSpec{})
			}
		}, "tasks without a live owner: 1"},
		"a dead member":   {func(p *played) { p.none = "b" }, "members that are probably dead: 1"},
		"a silent member": {func(p *played) { p.quiet = "b" }, "members that are probably dead: 1"},
		"the owner is dead": {func(p *played) {
			p.none = string(p.submit("x", cluster.TaskSpec{}).Owner)
		}, "members that are probably dead: 1, tasks without a live owner: 1"},
		"no member":      {func(p *played) { p.leave("a", false); p.leave("b", false) }, "no member"},
		"parked":         {func(p *played) { p.park() }, "parked: 1"},
		"sources differ": {func(p *played) { p.differ() }, "sources that differ: 1"},
		"sources differ, and more is wrong than is listed": {func(p *played) {
			p.differ()
			p.append(journal.Record{Kind: journal.Malformed, Partition: "task0", AtMS: time.Now().UnixMilli()})
			for i := range view.MaxProblems + 7 {
				p.submit(cluster.JobID(fmt.Sprint("gpu", i)), gpu)
			}
		}, "tasks without a live owner: 107, malformed: 1, sources that differ: 1"},
		"a task that its members die of": {func(p *played) { p.kill() }, "parked: 1"},
		"others have ended a heartbeat": {func(p *played) {
			p.none = "b"
			p.write("pulse/b", map[string]any{"member": "b", "state": "fenced"})
		}, "members that are probably dead: 1"},
		"the history is trimmed": {func(p *played) { p.log = lostLog{trimmed: true} }, "read the snapshot: not found"},
		"the history diverges": {func(p *played) { p.log = lostLog{head: 1} },
			"the log was rewritten at or after index 3: the log is shorter than what was read from it before"},
		"dead letters": {func(p *played) { p.flows("one", true); p.flows("two", true) }, "dead letters: 4"},
		"a flow that has not begun": {func(p *played) {
			p.f.apply(cluster.SubmitJob{Job: "new", Spec: flows.Spec("noop")})
		}, ""},
		"idle": {func(*played) {}, ""},
		"a paused job": {func(p *played) {
			t := p.submit("rests", cluster.TaskSpec{})
			p.f.apply(cluster.PauseJob{Job: "rests", By: "ann"}, cluster.Stopped{Partition: t.ID, Token: t.Token})
		}, ""},
		"a drained member": {func(p *played) {
			p.submit("x", cluster.TaskSpec{})
			p.f.apply(cluster.DrainMember{Member: "a", On: true})
		}, ""},
		"a rolling restart with hold": {func(p *played) {
			owner := p.submit("x", cluster.TaskSpec{}).Owner
			p.leave(owner, true)
			p.none = string(owner)
		}, ""},
		"dead letters of a job that was killed": {func(p *played) {
			p.f.apply(cluster.SubmitJob{Job: "flow", Spec: flows.Spec("noop")})
			letter := store.Put{Shard: flows.Dead, Segments: 1, Data: []byte("a")}
			flows.Open(p.t, p.f.v, "flow", p.docs, store.Unit{Name: "1", Outputs: []store.Put{letter}})
			p.f.apply(cluster.KillJob{Job: "flow"})
		}, ""},
		"a finished flow without dead letters": {func(p *played) { p.flows("flow", false) }, ""},
		"a malformed file that no member has": {func(p *played) {
			p.append(journal.Record{Kind: journal.Malformed, Partition: "x", AtMS: time.Now().UnixMilli()})
			for m := range p.f.v.Members() {
				p.write("source/tasks/"+string(m.ID), directory.Inventory{Incarnation: m.Incarnation})
			}
		}, ""},
		"a file whose name another source has": {func(p *played) { p.taken("others") }, "malformed: 1"},
		"one of a source that no member has":   {func(p *played) { p.taken("tasks") }, ""},
		"a malformed file that was mended": {func(p *played) {
			p.append(journal.Record{Kind: journal.Malformed, Partition: "x", AtMS: time.Now().UnixMilli() - 1})
			p.append(journal.Record{Kind: journal.Recovered, Partition: "x", AtMS: time.Now().UnixMilli()})
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlayed(t)
			c.scene(p)
			if got := p.wrong(); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// taken has a job of a source whose name a file of another source wanted too. The members have the source tasks alone.
func (p *played) taken(source string) {
	p.f.apply(cluster.SubmitJob{Job: "x", Spec: cluster.JobSpec{Source: source, Tasks: []cluster.TaskSpec{{Type: "noop"}}}})
	p.append(journal.Record{Kind: journal.Malformed, Partition: "x", AtMS: time.Now().UnixMilli(),
		Message: `a job "x" exists already, from the source ` + source})
}

func (p *played) append(r journal.Record) {
	p.t.Helper()
	must.Succeed(p.t, p.records.Append(p.t.Context(), r))
}
