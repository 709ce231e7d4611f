package source

import (
	"fmt"
	"strings"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/schedule"
	"github.com/rota-run/rota/work"
)

// ParseJob parses a job in YAML or JSON, by the file's extension: several tasks, their order, and how they share slots.
// A file without the field tasks is parsed as by [Parse], as a job with one task. Types that foreign accepts may be missing from the table: their
// config is not checked; nil accepts none. The spec's Source is left empty, as for a job that a client submits. The error is a
// *[MalformedError]; with one, the spec is empty and the id comes from the file's name.
func ParseJob(name string, data []byte, types work.Types, foreign func(name string) bool) (cluster.JobID, cluster.JobSpec, error) {
	id := ID(name)
	if !Extension(name) {
		return id, cluster.JobSpec{}, CheckFile(name)
	}
	f, err := open(name, data)
	if err != nil {
		return id, cluster.JobSpec{}, err
	}
	root, err := f.read()
	if err != nil {
		return id, cluster.JobSpec{}, err
	}
	d := &decoder{file: f, types: types, foreign: foreign, root: root}
	if !d.several() {
		return d.single()
	}
	j := &jobDecoder{decoder: d}
	spec := j.job()
	if len(j.faults) > 0 {
		return id, cluster.JobSpec{}, j.first()
	}
	if j.id != "" {
		return cluster.JobID(j.id), spec, nil
	}
	return id, spec, nil
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
	if waits := len(s.Edges); len(d.faults) == 0 {
		if d.flowEdges(&s); len(s.Edges) > waits {
			d.mixed()
			d.cycle(&s)
			stream = true
		}
	}
	s.Batch = len(s.Edges) > 0 && !stream
	d.percentages(&s)
	d.forSlots(&s)
	if len(d.faults) > 0 {
		return s
	}
	id := cluster.JobID(d.id)
	if id == "" {
		id = ID(d.path)
	}
	if err := cluster.CheckCommand(cluster.SubmitJob{Job: id, Spec: s}); err != nil {
		d.refuse(err)
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
			d.faults = append(d.faults, t.faults...)
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
			d.fail(t.valueAt("name", ""), fmt.Sprintf("two tasks are named %q, the first in line %d", t.spec.Name, first.find("name").line), "another name")
			continue
		}
		seen[t.spec.Name] = t
	}
}

// refuse turns the cluster's refusal of the job into a fault; the path of the refusal gives its place.
func (d *jobDecoder) refuse(err error) {
	message, _, _ := strings.Cut(err.Error(), "\n")
	message = strings.TrimPrefix(message, "spec.")
	path, _, _ := strings.Cut(message, ":")
	d.fail(d.valueAt(path, message), message, "")
}
