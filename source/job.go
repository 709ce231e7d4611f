package source

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/schedule"
	"github.com/rota-run/rota/work"
)

// ParseJob parses a job in YAML or JSON, by the file's extension: several tasks, their order, and how they share slots.
// A file without the field tasks is parsed as by [Parse], as a job with one task. Types that foreign accepts may be
// missing from the table: their config is not checked; nil accepts none. The spec's Source is left empty, as for a job
// that a client submits. The error is a *[MalformedError]; with one, the spec is empty and the id comes from the file's
// name.
func ParseJob(name string, data []byte, types work.Types,
	foreign func(name string) bool) (cluster.JobID, cluster.JobSpec, error) {
	id := ID(name)
	if !Extension(name) {
		return id, cluster.JobSpec{}, CheckFile(name)
	}
	f, root, err := read(name, data)
	if err != nil {
		return id, cluster.JobSpec{}, err
	}
	d := &decoder{file: f, types: types, foreign: foreign, root: root}
	if !d.several() {
		return d.single()
	}
	j := &jobDecoder{decoder: d}
	spec := j.job()
	if j.found != nil {
		return id, cluster.JobSpec{}, j.shown(j.found)
	}
	return cmp.Or(cluster.JobID(j.id), id), spec, nil
}

// single reads a job of one task.
func (d *decoder) single() (cluster.JobID, cluster.JobSpec, error) {
	id := ID(d.path)
	if err := CheckFile(d.path); err != nil {
		return id, cluster.JobSpec{}, err
	}
	spec, err := d.jobOfOne(id)
	return id, spec, err
}

// jobDecoder reads a job of several tasks.
type jobDecoder struct {
	*decoder
	id    string
	tasks []*taskDecoder
}

// job decides what a tree means.
func (d *jobDecoder) job() cluster.JobSpec {
	var s cluster.JobSpec
	stream := false
	d.fields(d.root, "", []field{
		{"id", d.nameTo(&d.id)},
		{"version", textTo(&s.Version)},
		{"scheduler", choiceTo(&s.Scheduler, []string{"round-robin", "greedy", "percentage"},
			[]schedule.TaskScheduler{schedule.TasksRoundRobin, schedule.TasksGreedy, schedule.TasksPercentage})},
		{"stream", choiceTo(&stream, []string{"true", "false"}, []bool{true, false})},
		{"coverage", choiceTo(&s.Coverage, []string{"required", "none"}, []bool{true, false})},
		{"percent", wholeTo(&s.Percent, 0, 100, "percent of all slots")},
		{"tasks", d.tasksTo(&s)},
	})
	d.checkName()
	d.edges(&s)
	if waits := len(s.Edges); d.found == nil {
		if d.flowEdges(&s); len(s.Edges) > waits {
			d.mixed()
			d.cycle(&s)
			stream = true
		}
	}
	s.Batch = len(s.Edges) > 0 && !stream
	d.percentages(&s)
	d.forSlots(&s)
	if d.found != nil {
		return s
	}
	id := cmp.Or(cluster.JobID(d.id), ID(d.path))
	if err := cluster.CheckCommand(cluster.SubmitJob{Job: id, Spec: s}); err != nil {
		at, message := d.refused(err, "spec.")
		d.fail(at, message, "")
	}
	return s
}

// checkName asks of the file's name what it asks of an id, where there is none.
func (d *jobDecoder) checkName() {
	if _, ok := d.root.get("id"); ok {
		return
	}
	if err := cluster.CheckName(string(ID(d.path))); err != nil {
		d.fail(place{}, "the file's name cannot be the id of the job: "+err.Error(), "add the field id")
	} else if strings.HasPrefix(string(ID(d.path)), "rota.") {
		d.fail(place{}, `names that begin with "rota." are reserved`, "add the field id")
	}
}

// nameTo reads the name of a job or task.
func (d *decoder) nameTo(to *string) setter {
	return func(v *node) (string, string) {
		if message, hint := textTo(to)(v); message != "" {
			return message, hint
		}
		if err := cluster.CheckName(*to); err != nil {
			return err.Error(), ""
		}
		if strings.HasPrefix(*to, "rota.") {
			return `names that begin with "rota." are reserved`, "another name"
		}
		return "", ""
	}
}

// tasksTo reads the tasks.
func (d *jobDecoder) tasksTo(s *cluster.JobSpec) setter {
	return func(v *node) (string, string) {
		if v.kind != list {
			return wrongKind(v, "a list of tasks")
		}
		if n := len(v.items); n == 0 || n > cluster.MaxTasks {
			return fmt.Sprintf("%d tasks, between 1 and %d are allowed", n, cluster.MaxTasks), ""
		}
		for i, item := range v.items {
			t := d.read(i, item)
			d.tasks = append(d.tasks, t)
			d.note(t.found)
			s.Tasks = append(s.Tasks, t.spec)
		}
		d.namedTwice()
		return "", ""
	}
}

func (d *jobDecoder) namedTwice() {
	seen := make(map[string]*taskDecoder, len(d.tasks))
	for _, t := range d.tasks {
		if t.spec.Name == "" {
			continue
		}
		if first, ok := seen[t.spec.Name]; ok {
			d.fail(t.valueAt("name", ""), fmt.Sprintf("two tasks are named %q, the first in line %d", t.spec.Name,
				first.find("name").line), "another name")
			continue
		}
		seen[t.spec.Name] = t
	}
}

// taskDecoder reads one task of a job.
type taskDecoder struct {
	*decoder
	spec    cluster.TaskSpec
	after   []edgeEnd // what it waits for
	ingress []ingress // what it takes segments from
}

// edgeEnd is the name of a task, with its place in the file.
type edgeEnd struct {
	name  string
	place place
}

// read reads the task at a place of the list.
func (d *jobDecoder) read(i int, n *node) *taskDecoder {
	t := &taskDecoder{decoder: &decoder{file: d.file, types: d.types, foreign: d.foreign, root: n, node: true,
		label: fmt.Sprintf("tasks[%d]: ", i)}}
	t.spec.Spread = cluster.SpreadPool
	if n.kind != mapping {
		t.fail(n.place, n.kind.String()+", want a mapping", "such as {name: load, type: http}")
		return t
	}
	if p, ok := n.get("name"); ok && cluster.CheckName(p.value.raw) == nil {
		t.label = fmt.Sprintf("task %s: ", p.value.raw)
	} else if !ok {
		t.fail(n.place, "the field name is missing", "each task of a job has a name")
	}
	t.body(&t.spec, append(append(t.placement(&t.spec), t.onSlots()...), field{"name", t.nameTo(&t.spec.Name)},
		field{"after", t.afterTo},
		field{"from", t.fromTo},
		field{"parts", t.partsTo},
		field{"keyed", choiceTo(&t.keyed, []string{"true", "false"}, []bool{true, false})},
		field{"percent", wholeTo(&t.spec.Percent, 0, 100, "percent of the slots of the job")},
	))
	t.checkSpread()
	return t
}

// onSlots are the fields that say on how many slots the task runs.
func (t *taskDecoder) onSlots() []field {
	return []field{
		{"min", wholeTo(&t.spec.Min, 1, 1<<31, "leave it out to run on what there is")},
		{"max", wholeTo(&t.spec.Max, 1, 1<<31, "leave it out for no limit")},
		{"repartition", choiceTo(&t.spec.Repartition, []string{"true", "false"}, []bool{true, false})},
	}
}

// afterTo reads the names of the tasks that this one takes from: one, or a list.
func (t *taskDecoder) afterTo(v *node) (message, hint string) {
	items := v.items
	if v.kind != list {
		items = []*node{v}
	}
	for i, item := range items {
		name, ok := item.scalar()
		if !ok {
			t.fail(item.place, fmt.Sprintf("after[%d]: %s, want the name of a task", i, item.kind), "")
			continue
		}
		t.after = append(t.after, edgeEnd{name, item.place})
	}
	return "", ""
}

// ofSlots are the fields that only a task of spread pool has; ofPlaces those that it cannot have, because its slots are
// equal.
var (
	ofSlots  = []string{"min", "max", "percent", "after", "from", "parts", "keyed", "repartition"}
	ofPlaces = []string{"labels", "spread_over", "pin", "stay", "weight"}
)

// checkSpread refuses fields that the spread has no use for.
func (t *taskDecoder) checkSpread() {
	wrong, why, hint := ofSlots, "is for spread pool, and this one is "+t.spec.Spread.String(),
		"drop it, or drop spread: a task of a job runs on slots"
	if t.spec.Spread == cluster.SpreadPool {
		wrong, why, hint = ofPlaces, "is not for spread pool: its slots are interchangeable",
			"drop it, or write spread: single"
	}
	for _, name := range wrong {
		if p, ok := t.root.get(name); ok {
			t.fail(p.place, name+" "+why, hint)
		}
	}
	if t.spec.Spread != cluster.SpreadPool {
		return
	}
	if t.spec.Handover == cluster.HandoverNoGap {
		t.fail(t.valueAt("handover", ""), "handover: a slot runs one thing at a time: no-gap is not for spread pool",
			"at-most-one or fast")
	}
	if t.spec.Max != 0 && t.spec.Max < t.spec.Min {
		t.fail(t.valueAt("max", ""), fmt.Sprintf("max: %d is below min, which is %d", t.spec.Max, t.spec.Min), "")
	}
}

// jobHint is for a field of a task that there is not.
func (d *decoder) jobHint(key string, known []string) string {
	if hint := didYouMean(key, known); hint != "" {
		return hint
	}
	switch strings.ToLower(key) {
	case "percentage", "share":
		return `did you mean "percent"?`
	case "depends_on", "dependson", "needs", "requires", "inputs":
		return `did you mean "after"?`
	case "parallelism", "concurrency", "replicas":
		return `did you mean "max"?`
	case "id":
		return `did you mean "name"?`
	}
	if other := otherWords(key); other != "" {
		return fmt.Sprintf("did you mean %q?", other)
	}
	if d.fitsConfig() {
		return "the fields of a task type belong below config"
	}
	return ""
}

// names are those of the tasks, in order.
func (d *jobDecoder) names() []string {
	out := make([]string, 0, len(d.tasks))
	for _, t := range d.tasks {
		if t.spec.Name != "" && !slices.Contains(out, t.spec.Name) {
			out = append(out, t.spec.Name)
		}
	}
	return out
}
