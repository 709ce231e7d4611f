package source

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/schedule"
)

// edges joins what the tasks say that they take from.
func (d *jobDecoder) edges(s *cluster.JobSpec) {
	names := d.names()
	for _, t := range d.tasks {
		seen := make(map[string]bool, len(t.after))
		for _, from := range t.after {
			switch at := slices.Index(names, from.name); {
			case at < 0:
				t.fail(from.place, fmt.Sprintf("after: there is no task %.40q", from.name), suggest(from.name, names))
			case from.name == t.spec.Name:
				t.fail(from.place, "after: the task depends on itself", "drop it")
			case seen[from.name]:
				t.fail(from.place, fmt.Sprintf("after: duplicate task %q", from.name), "drop one of them")
			case d.task(from.name).spec.Spread != cluster.SpreadPool:
				t.fail(from.place, fmt.Sprintf("after: the task %s is of spread %s", from.name, d.task(from.name).spec.Spread), "only tasks of spread pool are served in order")
			default:
				s.Edges = append(s.Edges, cluster.Edge{From: from.name, To: t.spec.Name})
			}
			seen[from.name] = true
		}
		d.faults = appendNew(d.faults, t.faults)
	}
	if len(d.faults) == 0 {
		d.cycle(s)
	}
}

// appendNew adds the faults that are not among all yet.
func appendNew(all, some []*MalformedError) []*MalformedError {
	for _, e := range some {
		if !slices.Contains(all, e) {
			all = append(all, e)
		}
	}
	return all
}

// task finds a task by its name; the first of it.
func (d *jobDecoder) task(name string) *taskDecoder {
	i := slices.IndexFunc(d.tasks, func(t *taskDecoder) bool { return t.spec.Name == name })
	return d.tasks[i]
}

// cycle refuses edges that lead back, at the one that closes the cycle in the file.
func (d *jobDecoder) cycle(s *cluster.JobSpec) {
	names := s.Cycle()
	for i := range names[:max(0, len(names)-1)] {
		t := d.task(names[i+1])
		for _, from := range t.after {
			if from.name == names[i] {
				t.fail(from.place, "after: the tasks wait for each other: "+strings.Join(names, " → "), "drop one of these")
			}
		}
		for _, in := range t.ingress {
			if in.Task == names[i] {
				t.fail(in.place, "from: the tasks take from each other: "+strings.Join(names, " → "), "drop one of these")
			}
		}
		d.faults = appendNew(d.faults, t.faults)
	}
}

// percentages checks what the tasks want of the slots of the job.
func (d *jobDecoder) percentages(s *cluster.JobSpec) {
	byPercent, sum := s.Scheduler == schedule.TasksPercentage, int64(0)
	for _, t := range d.tasks {
		p, ok := t.root.get("percent")
		if !ok || t.spec.Percent == 0 {
			continue
		}
		was := sum
		sum += t.spec.Percent
		switch {
		case !byPercent:
			t.fail(p.place, "percent: the scheduler of the job is "+s.Scheduler.String(), "write scheduler: percentage above tasks, or drop it")
		case was <= 100 && sum > 100:
			t.fail(p.value.place, fmt.Sprintf("percent: with the tasks before it comes to %d, at most 100 are allowed", sum), "")
		}
		d.faults = appendNew(d.faults, t.faults)
	}
	if byPercent && sum == 0 && len(d.faults) == 0 {
		d.fail(d.valueAt("scheduler", ""), "scheduler: percentage, but no task has a percent", "add percent to the tasks, or choose round-robin or greedy")
	}
}

// forSlots refuses what is about slots where no task runs on any.
func (d *jobDecoder) forSlots(s *cluster.JobSpec) {
	if slices.ContainsFunc(s.Tasks, func(t cluster.TaskSpec) bool { return t.Spread == cluster.SpreadPool }) {
		return
	}
	for _, name := range []string{"scheduler", "coverage", "percent"} {
		if p, ok := d.root.get(name); ok {
			d.fail(p.place, name+" is for jobs with a task of spread pool", "drop it")
		}
	}
}
