package source

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/flow"
	"github.com/rota-run/rota/internal/schedule"
	"github.com/rota-run/rota/work"
)

// ingress is an edge into a task, with its place in the file.
type ingress struct {
	work.Ingress
	place place
}

// fromTo reads from where a task takes segments: the name of a task, a mapping {task, shards, by}, or a list of these.
func (t *taskDecoder) fromTo(v *node) (message, hint string) {
	items := v.items
	if v.kind != list {
		items = []*node{v}
	}
	for _, item := range items {
		in := ingress{place: item.place}
		shards := int64(1)
		if name, ok := item.scalar(); ok {
			in.Task = name
		} else if item.kind == mapping {
			t.fields(item, "from.", []field{
				{"task", textTo(&in.Task)},
				{"shards", wholeTo(&shards, 1, flow.MaxShards, "as many as tasks work at it at once")},
				{"by", textTo(&in.By)},
			})
		} else {
			t.fail(item.place, fmt.Sprintf("from: %s, want the name of a task or a mapping", item.kind),
				"from: {task: read, shards: 4}")
			continue
		}
		if in.Task == "" {
			t.fail(item.place, "from: the field task is missing", "from: {task: read}")
			continue
		}
		if shards > 1 {
			in.Shards = int(shards)
		}
		t.ingress = append(t.ingress, in)
		t.from = append(t.from, in.Ingress)
	}
	return "", ""
}

// partsTo reads in how many parts an input reads.
func (t *taskDecoder) partsTo(v *node) (message, hint string) {
	n := int64(0)
	message, hint = wholeTo(&n, 1, flow.MaxShards, "leave it out for one")(v)
	t.parts = int(n)
	return message, hint
}

// flowEdges joins what the tasks say that segments come from.
func (d *jobDecoder) flowEdges(s *cluster.JobSpec) {
	names := d.names()
	for _, t := range d.tasks {
		ends := make([]edgeEnd, 0, len(t.ingress))
		for _, in := range t.ingress {
			ends = append(ends, edgeEnd{in.Task, in.place})
		}
		d.join(s, t, ends, names, edgeWords{"from: ", "it takes from itself", "hand on segments"})
		d.note(t.found)
	}
	if d.found == nil {
		d.fitSegments()
	}
}

// fitSegments refuses tasks whose types do not fit their place: what one puts out the next must take.
func (d *jobDecoder) fitSegments() {
	for _, t := range d.tasks {
		t.fitStage()
		t.fitKeys()
		for _, in := range t.ingress {
			from := d.task(in.Task)
			switch {
			case !from.typed || !t.typed || t.segments == nil:
			case from.segments == nil || from.segments.Out == "":
				t.fail(in.place, fmt.Sprintf("from: the type of task %s, %s, puts out no segments", in.Task,
					from.spec.Type), "after: "+in.Task+" waits for its end")
			case !fits(from.segments.Out, t.segments.In):
				t.fail(in.place, fmt.Sprintf("from: task %s puts out %s, and type %s takes %s", in.Task,
					from.segments.Out, t.spec.Type, t.segments.In), "")
			}
		}
		d.note(t.found)
	}
}

func fits(out, in string) bool {
	return out == in || out == work.AnySegments || in == work.AnySegments
}

// fitStage refuses a task that has edges and cannot have them, or the other way round.
func (t *taskDecoder) fitStage() {
	parts, hasParts := t.root.get("parts")
	switch takes := len(t.ingress) > 0; {
	case hasParts && takes:
		t.fail(parts.place, "parts: only a task that reads from outside has parts",
			"shards of from says in how many parts it takes")
	case !t.typed:
	case t.segments == nil && takes:
		t.fail(t.find("from"), fmt.Sprintf("from: type %s takes no segments", t.spec.Type),
			"after: waits for the end of a task")
	case t.segments == nil && hasParts:
		t.fail(parts.place, fmt.Sprintf("parts: type %s reads no segments", t.spec.Type), "drop it")
	case t.segments == nil:
	case t.segments.In == "" && takes:
		t.fail(t.find("from"), fmt.Sprintf("from: type %s reads from outside and takes no segments", t.spec.Type),
			"drop from")
	case t.segments.In != "" && !takes:
		t.fail(t.root.place, fmt.Sprintf("type %s takes segments, and from is missing", t.spec.Type),
			"from: {task: NAME}")
	}
}

// fitKeys refuses a task that keeps state by key where equal keys do not meet, or whose type does not.
func (t *taskDecoder) fitKeys() {
	place := t.root.place
	if p, ok := t.root.get("keyed"); ok {
		place = p.place
	}
	switch {
	case t.keyed && len(t.ingress) == 0:
		t.fail(place, "keyed: only a task that takes segments keeps state by key", "from: {task: NAME, by: FIELD}")
	case t.typed && t.segments != nil && t.keyed != t.segments.Keyed && t.keyed:
		t.fail(place, fmt.Sprintf("keyed: type %s keeps no state", t.spec.Type), "drop it")
	case t.typed && t.segments != nil && t.keyed != t.segments.Keyed:
		t.fail(place, fmt.Sprintf("type %s keeps state by key, and keyed is missing", t.spec.Type), "keyed: true")
	}
	for _, in := range t.ingress {
		switch {
		case !t.keyed:
		case in.By == "":
			t.fail(in.place, fmt.Sprintf("from: the task is keyed, and what it takes from %s has no key", in.Task),
				"from: {task: "+in.Task+", by: FIELD}")
		case in.Shards != t.ingress[0].Shards:
			t.fail(in.place, fmt.Sprintf("from: the task is keyed, and what it takes from %s has other shards than what it takes from %s", in.Task, t.ingress[0].Task), "give both as many shards")
		}
	}
}

// mixed refuses a job whose tasks wait for the end of others and hand on segments, too: all edges of a job are of one
// kind.
func (d *jobDecoder) mixed() {
	for _, t := range d.tasks {
		if len(t.after) > 0 {
			t.fail(t.after[0].place,
				"after: a task of this job takes segments with from, which needs all of them to run at once",
				"split the job in two, or use from alone")
			d.note(t.found)
		}
	}
}

// edges joins what the tasks say that they take from.
func (d *jobDecoder) edges(s *cluster.JobSpec) {
	names := d.names()
	for _, t := range d.tasks {
		d.join(s, t, t.after, names, edgeWords{"after: ", "the task depends on itself", "are served in order"})
		d.note(t.found)
	}
	if d.found == nil {
		d.cycle(s)
	}
}

// edgeWords are what faults of edges say: the field, of an edge to the task itself, and what only tasks of spread pool
// do.
type edgeWords struct{ field, itself, pool string }

// join adds the edges that lead from some tasks to this one.
func (d *jobDecoder) join(s *cluster.JobSpec, t *taskDecoder, ends []edgeEnd, names []string, w edgeWords) {
	seen := make(map[string]bool, len(ends))
	for _, from := range ends {
		switch {
		case !slices.Contains(names, from.name):
			t.fail(from.place, fmt.Sprintf("%sthere is no task %.40q", w.field, from.name), suggest(from.name, names))
		case from.name == t.spec.Name:
			t.fail(from.place, w.field+w.itself, "drop it")
		case seen[from.name]:
			t.fail(from.place, fmt.Sprintf("%sduplicate task %q", w.field, from.name), "drop one of them")
		case d.task(from.name).spec.Spread != cluster.SpreadPool:
			t.fail(from.place, fmt.Sprintf("%sthe task %s is of spread %s", w.field, from.name,
				d.task(from.name).spec.Spread), "only tasks of spread pool "+w.pool)
		default:
			s.Edges = append(s.Edges, cluster.Edge{From: from.name, To: t.spec.Name})
		}
		seen[from.name] = true
	}
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
				t.fail(from.place, "after: the tasks wait for each other: "+strings.Join(names, " → "),
					"drop one of these")
			}
		}
		for _, in := range t.ingress {
			if in.Task == names[i] {
				t.fail(in.place, "from: the tasks take from each other: "+strings.Join(names, " → "),
					"drop one of these")
			}
		}
		d.note(t.found)
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
			t.fail(p.place, "percent: the scheduler of the job is "+s.Scheduler.String(),
				"write scheduler: percentage above tasks, or drop it")
		case was <= 100 && sum > 100:
			t.fail(p.value.place, fmt.Sprintf("percent: with the tasks before it comes to %d, at most 100 are allowed",
				sum), "")
		}
		d.note(t.found)
	}
	if byPercent && sum == 0 && d.found == nil {
		d.fail(d.valueAt("scheduler", ""), "scheduler: percentage, but no task has a percent",
			"add percent to the tasks, or choose round-robin or greedy")
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
