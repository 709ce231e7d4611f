package schedule

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// The scripts in testdata/slots: the worked examples of the source document "The Cluster as a Value" under its names,
// and one file for each kind of change. Run with -rewrite to write the outcomes again.
func TestSlotScripts(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, "testdata/slots", func(t *testing.T, path string) {
		s := &slotScript{slotWorld{scheduler: JobsGreedy}}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string { return s.run(t, d) })
	})
}

type slotScript struct{ w slotWorld }

func (s *slotScript) run(t *testing.T, d *datadriven.TestData) string {
	switch d.Cmd {
	case "scheduler": // scheduler round-robin | greedy | percentage; greedy where none is chosen
		if err := s.w.scheduler.UnmarshalText([]byte(d.CmdArgs[0].Key)); err != nil {
			d.Fatalf(t, "%v", err)
		}
	case "join": // join a b slots=2: one slot each where no number stands
		slots := 1
		d.MaybeScanArgs(t, "slots", &slots)
		for _, id := range keysOf(d) {
			s.w.addMember(id, int64(slots))
		}
	case "leave": // leave a b: crashed or left, their slots are gone
		for _, id := range keysOf(d) {
			s.w.dropMember(id)
		}
	case "submit": // submit j scheduler=greedy percent=20 protected, then a line per task: t1 min=1 max=3 percent=50
		s.submit(t, d)
	case "finish": // finish j t: the task is complete
		s.finish(t, d)
	case "kill": // kill j: the job is gone
		s.w.jobs = slices.Delete(s.w.jobs, s.jobAt(t, d), s.jobAt(t, d)+1)
	case "reset": // another cluster
		s.w = slotWorld{scheduler: JobsGreedy}
		return ""
	default:
		d.Fatalf(t, "unknown directive %q", d.Cmd)
	}
	return s.plan(t)
}

func keysOf(d *datadriven.TestData) (keys []string) {
	for _, a := range d.CmdArgs {
		if len(a.Vals) == 0 {
			keys = append(keys, a.Key)
		}
	}
	return keys
}

func (s *slotScript) jobAt(t *testing.T, d *datadriven.TestData) int {
	j := s.w.jobAt(d.CmdArgs[0].Key)
	if j < 0 {
		d.Fatalf(t, "no job %s", d.CmdArgs[0].Key)
	}
	return j
}

func (s *slotScript) submit(t *testing.T, d *datadriven.TestData) {
	j := Job{ID: d.CmdArgs[0].Key, Protected: d.HasArg("protected"), Scheduler: TasksGreedy}
	var name string
	if d.MaybeScanArgs(t, "scheduler", &name); name != "" {
		if err := j.Scheduler.UnmarshalText([]byte(name)); err != nil {
			d.Fatalf(t, "%v", err)
		}
	}
	d.MaybeScanArgs(t, "percent", &j.Percent)
	for line := range strings.Lines(d.Input) {
		fields := strings.Fields(line)
		task := Task{Name: fields[0]}
		for _, f := range fields[1:] {
			key, value, _ := strings.Cut(f, "=")
			*map[string]*int64{"min": &task.Min, "max": &task.Max, "percent": &task.Percent}[key] = number(t, value)
		}
		j.Tasks = append(j.Tasks, task)
	}
	s.w.submit(j)
}

func (s *slotScript) finish(t *testing.T, d *datadriven.TestData) {
	tasks := s.w.jobs[s.jobAt(t, d)].Tasks
	at := slices.IndexFunc(tasks, func(task Task) bool { return task.Name == d.CmdArgs[1].Key })
	if at < 0 {
		d.Fatalf(t, "no such task")
	}
	tasks[at].Finished, tasks[at].Held = true, nil
}

// plan plans, shows who runs what, how many slots left their task, and the reasons of all that waits; then it plans
// again, which must change nothing.
func (s *slotScript) plan(t *testing.T) string {
	a := s.w.plan(t)
	moved := 0
	for _, m := range a.Moves {
		if m.From != NoPost {
			moved++
		}
	}
	out := s.w.String()
	if moved > 0 {
		out += fmt.Sprintf("moved: %d\n", moved)
	}
	p := s.w.pool()
	a = Allocate(p)
	out += reasons(&a, p)
	if again := s.w.plan(t); len(again.Moves) > 0 {
		t.Fatalf("planning again moves %+v", again.Moves)
	}
	return out
}

func reasons(a *Allocation, p *Pool) (out string) {
	add := func(what string, r Reason) {
		if r.Rule != "" {
			out += fmt.Sprintf("%s: %s: %s\n", what, r.Rule, strings.TrimSuffix(r.Text+"; "+r.Try, "; "))
		}
	}
	for j := range p.Jobs {
		if a.Shares[j].Slots == 0 {
			add(p.Jobs[j].ID, a.WhyJob(p, j))
			continue
		}
		for t := range p.Jobs[j].Tasks {
			add(p.Jobs[j].ID+"/"+p.Jobs[j].Tasks[t].Name, a.WhyTask(p, Post{j, t}))
		}
	}
	add("idle", a.WhyIdle(p))
	return out
}
