package cluster

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/rota-run/rota/internal/ordered"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/schedule"
)

// Whatever members, clients and owners write about workflows: a slot runs one thing, of a member that has it, of a live
// job; shares are those of the schedulers once nothing is on its way; no partition that may be running is granted again
// before it has stopped.
func TestWorkflowsUnderAnyCommands(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		s := &script{t: t}
		running := make(map[PartitionID]Token) // as owners see it: they stop only when they say so
		for range rapid.IntRange(1, 25).Draw(rt, "steps") {
			c := drawCommand(rt, s.v)
			s.do(c)
			s.noteRunning(rt, running, c)
			s.mustHoldSlots(rt)
		}
		s.settle()
		s.mustBeAllocated(rt)
	})
}

func drawCommand(t *rapid.T, v Value) Command {
	pick := func(what string, names ...string) string { return rapid.SampledFrom(names).Draw(t, what) }
	m := MemberID(pick("member", "a", "b", "c"))
	rec, _ := v.Member(m)
	switch pick("command", "join", "join", "leave", "drain", "submit", "submit", "update", "kill", "owner", "owner",
		"owner", "configure") {
	case "join":
		if rec.State == MemberPrepared && rec.ID != "" {
			by, _ := v.Member(v.before(m))
			return AcceptJoin{m, rec.Incarnation, by.ID, by.Incarnation}
		}
		return PrepareJoin{Member: m, Replaces: rec.Incarnation, Slots: rapid.Int64Range(0, 3).Draw(t, "slots"),
			Heartbeat: "p"}
	case "leave":
		return LeaveCluster{Member: m, Incarnation: rec.Incarnation, Hold: rapid.Bool().Draw(t, "hold")}
	case "drain":
		return DrainMember{m, rapid.Bool().Draw(t, "on")}
	case "submit":
		return SubmitJob{Job: JobID(pick("job", "x", "y", "z")), Spec: drawSpec(t)}
	case "update":
		return UpdateJob{Job: JobID(pick("job", "x", "y", "z")), Spec: drawSpec(t)}
	case "kill":
		return KillJob{Job: JobID(pick("job", "x", "y", "z"))}
	case "configure":
		return Configure{JobScheduler: pick("scheduler", "greedy", "round-robin", "percentage"),
			Retention: rapid.Int64Range(0, 2).Draw(t, "retention")}
	}
	return drawOwner(t, v)
}

func drawSpec(t *rapid.T) (s JobSpec) {
	names := []string{"p", "q", "r"}[:rapid.IntRange(1, 3).Draw(t, "tasks")]
	pool := false
	for i, name := range names {
		task := TaskSpec{Name: name, Type: "noop", MaxAttempts: rapid.Int64Range(0, 2).Draw(t, "attempts")}
		task.Spread = rapid.SampledFrom([]Spread{SpreadPool, SpreadPool, SpreadPool, SpreadSingle, SpreadPartitioned,
			SpreadEvery}).Draw(t, "spread")
		task.Handover = rapid.SampledFrom([]Handover{HandoverAtMostOne, HandoverAtMostOne, HandoverFast}).Draw(t,
			"handover")
		switch task.Spread {
		case SpreadPool:
			pool, task.Repartition = true, rapid.Bool().Draw(t, "repartition")
			task.Min, task.Max = rapid.Int64Range(0, 1).Draw(t, "min"),
				rapid.SampledFrom([]int64{0, 0, 1, 2}).Draw(t, "max")
		case SpreadPartitioned:
			task.Partitions = []string{"a:1", "k"}
		}
		if i > 0 && rapid.Bool().Draw(t, "edge") {
			s.Edges = append(s.Edges, Edge{name, names[i-1]})
		}
		s.Tasks = append(s.Tasks, task)
	}
	s.Batch = len(s.Edges) > 0 && !slices.ContainsFunc(s.Tasks,
		func(t TaskSpec) bool { return t.Spread != SpreadPool }) && rapid.Bool().Draw(t, "batch")
	if pool {
		s.Scheduler = schedule.TaskScheduler(rapid.IntRange(0, 1).Draw(t, "scheduler"))
		s.Coverage = rapid.Bool().Draw(t, "coverage")
		s.Percent = rapid.SampledFrom([]int64{0, 30, 60}).Draw(t, "percent")
	}
	return s
}

func drawOwner(t *rapid.T, v Value) Command {
	all := slices.Collect(v.Partitions())
	if len(all) == 0 {
		return Started{"none", 1}
	}
	p := rapid.SampledFrom(all).Draw(t, "partition")
	switch rapid.IntRange(0, 3).Draw(t, "says") {
	case 0:
		return FinishPartition{Partition: p.ID, Token: p.Token}
	case 1:
		return FinishPartition{Partition: p.ID, Token: p.Token, Outcome: OutcomeFailed, Attempt: p.Attempts,
			Message: "no"}
	}
	return Stopped{p.ID, p.Token}
}

// noteRunning keeps what at-most-one owners may be running: what was granted, until they say that it has ended or they
// are gone.
func (s *script) noteRunning(t *rapid.T, running map[PartitionID]Token, c Command) {
	switch c := c.(type) {
	case Stopped:
		delete(running, c.Partition)
	case FinishPartition:
		if s.last.Results[0].Accepted {
			if p, ok := s.v.Partition(c.Partition); !ok || p.Token != c.Token || c.Outcome == OutcomeDone ||
				p.Owner == "" {
				delete(running, c.Partition)
			}
		}
	case LeaveCluster, PrepareJoin:
		clear(running) // whoever left runs nothing; the others are noted again below
	}
	for id := range running {
		if s.v.mayOverlap(id) {
			delete(running, id) // an update can say so later
		}
	}
	for p := range s.v.Partitions() {
		if p.Owner == "" || p.State == PartitionHeld {
			continue
		}
		if token, ok := running[p.ID]; ok && token != p.Token {
			t.Fatalf("%s is granted under %d, but may be running under %d", p.ID, p.Token, token)
		}
		running[p.ID] = p.Token
	}
}

// mayOverlap reports whether a task switches at once, or is not handed over at all.
func (v Value) mayOverlap(id PartitionID) bool {
	job, task, _ := id.Split()
	j, _ := v.Job(job)
	t, ok := j.Task(task)
	return ok && (t.Handover == HandoverFast || t.Spread == SpreadEvery)
}

func (s *script) mustHoldSlots(t *rapid.T) {
	mustShare(t, s.v)
	taken := make(map[string]PartitionID)
	for p := range s.v.Partitions() {
		if p.Slot == 0 {
			continue
		}
		key := slotKey(p.Owner, p.Slot)
		if other, ok := taken[key]; ok {
			t.Fatalf("%s and %s take the same slot", p.ID, other)
		}
		taken[key] = p.ID
		m, ok := s.v.Member(p.Owner)
		if !ok || m.State != MemberJoined || p.Slot > m.Slots {
			t.Fatalf("%s takes a slot that its owner does not have: %+v", p.ID, m)
		}
		job, task, _ := p.ID.Split()
		j, _ := s.v.Job(job)
		if !p.Dropped && !p.former() && (j.State != JobRunning || j.finished(task) || m.Draining) {
			t.Fatalf("%s runs, its job is %s, finished %v, its member %+v", p, j.State, j.Finished, m)
		}
		if rec, ok := ordered.Get(&s.v.jobs, job); ok && !p.Dropped && !p.former() && rec.heldBack()[task] {
			t.Fatalf("%s runs, though it is held back: %+v, finished %v", p, j.Spec.Workflow, j.Finished)
		}
	}
	for j := range s.v.Jobs() {
		rec, _ := ordered.Get(&s.v.jobs, j.ID)
		if j.State == JobRunning && len(j.Finished) > 0 && !rec.unfinished() && rec.open == 0 &&
			!strings.Contains(fmt.Sprint(j.Spec.Tasks), "every") {
			t.Fatalf("job %s is not complete, though all of it is finished", j.ID)
		}
	}
}

// mustBeAllocated: with nothing on its way, planning again changes nothing.
func (s *script) mustBeAllocated(t *rapid.T) {
	p, _ := s.v.pool()
	a := schedule.Allocate(p)
	if len(a.Moves) > 0 || a.Lacking > 0 {
		t.Fatalf("at rest, but %+v would move, %d lack\n%s", a.Moves, a.Lacking, s.v)
	}
	if at := a.Usable - a.Given(); at != int64(len(p.Free)) {
		t.Fatalf("%d slots are free, %d should be", len(p.Free), at)
	}
}

// A limit is the last that is allowed.
func TestLimitsOfAStep(t *testing.T) {
	t.Parallel()
	inputs := func(bytes ...int) (c AdvanceWindow) {
		c.Partition = "x#l"
		for i, n := range bytes {
			c.Items = append(c.Items, Item{Key: fmt.Sprint(i), Input: make([]byte, n)})
		}
		return c
	}
	for _, c := range []struct {
		step AdvanceWindow
		ok   bool
	}{
		{inputs(MaxInputs-1, 1), true}, {inputs(MaxInputs, 1), false},
		{inputs(make([]int, MaxItems)...), true}, {inputs(make([]int, MaxItems+1)...), false},
		{AdvanceWindow{Partition: "x#l", Cursor: make([]byte, MaxCursor)}, true},
		{AdvanceWindow{Partition: "x#l", Cursor: make([]byte, MaxCursor+1)}, false},
	} {
		if err := CheckCommand(c.step); (err == nil) != c.ok {
			t.Errorf("%d items, %d bytes of cursor: %v", len(c.step.Items), len(c.step.Cursor), err)
		}
	}
}

// Faults of a workflow are told with their path.
func TestCheckWorkflow(t *testing.T) {
	t.Parallel()
	pool := func(name string) TaskSpec { return TaskSpec{Name: name, Type: "x", Spread: SpreadPool} }
	for want, spec := range map[string]JobSpec{
		"spec.edges: they have a cycle: a → b → a": {Tasks: []TaskSpec{pool("a"), pool("b"),
			pool("c")}, Workflow: Workflow{Edges: []Edge{{"a", "b"}, {"b", "a"}, {"b", "c"}}}},
		"spec.tasks[0]: repartition: it is for spread pool": {Tasks: []TaskSpec{{Name: "a", Type: "x",
			Repartition: true}}},
		"spec.edges[1].to: no task is named \"z\"": {Tasks: []TaskSpec{pool("a"), pool("b")},
			Workflow: Workflow{Edges: []Edge{{"a", "b"}, {"b", "z"}}}},
		"spec.edges[0].from: no task is named \"\"": {Tasks: []TaskSpec{pool("a"), pool("b")},
			Workflow: Workflow{Edges: []Edge{{"", "b"}}}},
		"spec.tasks[0]: min, max and percent are for spread pool": {Tasks: []TaskSpec{{Name: "a", Type: "x", Min: 1}}},
		"spec.percent: -1 is not between 0 and 100":               {Tasks: []TaskSpec{pool("a")}, Workflow: Workflow{Percent: -1}},
		"spec.batch: it is for a job with edges":                  {Tasks: []TaskSpec{pool("a")}, Workflow: Workflow{Batch: true}},
		"spec.edges[0]: in a batch both ends are of spread pool": {Tasks: []TaskSpec{pool("a"),
			{Name: "b", Type: "x"}}, Workflow: Workflow{Batch: true, Edges: []Edge{{"a", "b"}}}},
		"spec.scheduler: an unknown choice": {Tasks: []TaskSpec{pool("a")}, Workflow: Workflow{Scheduler: 7}},
		"spec.edges: 10001 edges, at most 10000 are allowed": {Tasks: []TaskSpec{pool("a")},
			Workflow: Workflow{Edges: make([]Edge, MaxEdges+1)}},
		"spec.tasks[1].name: duplicate \"a\"":                   {Tasks: []TaskSpec{pool("a"), pool("a")}},
		"spec.tasks: 1001 tasks, at most 1000 are allowed":      {Tasks: make([]TaskSpec, MaxTasks+1)},
		"spec.tasks[0]: weight: 2147483649 is above 2147483648": {Tasks: []TaskSpec{{Type: "x", Weight: 1<<31 + 1}}},
		"spec.tasks[0]: labels: [1]: \"a\" does not follow \"a\": labels must be sorted, without duplicate keys": {
			Tasks: []TaskSpec{{Type: "x", Selector: []Label{{"a", "1"}, {"a", "2"}}}}},
		"spec.tasks[0]: partitions: [0]: the key \"\\x7f\" has a control character": {
			Tasks: []TaskSpec{{Type: "x", Spread: SpreadPartitioned, Partitions: []string{"\x7f"}}}},
		"spec.tasks: their percentages come to 101, at most 100 are al": {Tasks: []TaskSpec{{Name: "a", Type: "x",
			Spread: SpreadPool, Percent: 51}, {Name: "b", Type: "x", Spread: SpreadPool, Percent: 50}},
			Workflow: Workflow{Scheduler: schedule.TasksPercentage}},
	} {
		err := CheckCommand(SubmitJob{Job: "j", Spec: spec})
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// A cycle is found wherever it is, and only then.
func TestTopologicalOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 8).Draw(rt, "tasks")
		spec := JobSpec{}
		for i := range n {
			spec.Tasks = append(spec.Tasks, TaskSpec{Name: fmt.Sprint("t", i), Type: "x", Spread: SpreadPool})
		}
		for range rapid.IntRange(0, 10).Draw(rt, "edges") {
			e := Edge{fmt.Sprint("t", rapid.IntRange(0, n-1).Draw(rt, "from")),
				fmt.Sprint("t", rapid.IntRange(0, n-1).Draw(rt, "to"))}
			if e.From != e.To && !slices.Contains(spec.Edges, e) {
				spec.Edges = append(spec.Edges, e)
			}
		}
		order, cycle := topological(&spec)
		if len(cycle) > 0 {
			for i := range len(cycle) - 1 {
				if !slices.Contains(spec.Edges, Edge{cycle[i], cycle[i+1]}) {
					rt.Fatalf("no edge from %s to %s in %v", cycle[i], cycle[i+1], spec.Edges)
				}
			}
			if cycle[0] != cycle[len(cycle)-1] || len(cycle) < 3 {
				rt.Fatalf("not a cycle: %v", cycle)
			}
			return
		}
		place := make(map[string]int)
		for i, at := range order {
			place[spec.Tasks[at].Name] = i
		}
		for i := range len(order) - 1 { // where the edges leave a choice, the spec decides
			a, b := order[i], order[i+1]
			if a > b && !slices.Contains(spec.Edges, Edge{fmt.Sprint("t", a), fmt.Sprint("t", b)}) {
				rt.Fatalf("order %v of %v", order, spec.Edges)
			}
		}
		for _, e := range spec.Edges {
			if place[e.From] >= place[e.To] || len(order) != n {
				rt.Fatalf("order %v of %v", order, spec.Edges)
			}
		}
	})
}

// A snapshot that was made up cannot ask for more slots than a member may have.
func TestMadeUpSlotsAreBounded(t *testing.T) {
	t.Parallel()
	for _, slots := range []int64{-1, MaxSlots, 1 << 60} {
		d := &draft{}
		d.setMember(Member{ID: "a", State: MemberJoined, Slots: slots})
		v := must.Get(DecodeSnapshot(d.value().Snapshot()))(t)
		if n := ordered.Len(&v.derived.free); n != int(min(MaxSlots, max(0, slots))) {
			t.Errorf("%d slots are free where the member says %d", n, slots)
		}
	}
}
