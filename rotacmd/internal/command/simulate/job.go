package simulate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rota-run/rota/cluster"
)

// The options of a job, and of a task. The task of a job without lines of its own takes both.
var (
	jobOptions  = []string{"scheduler", "edges", "percent", "version", "source", "by", "by-token", "expected"}
	taskOptions = []string{
		"type", "spread", "keys", "handover", "weight", "attempts", "label", "over", "pin", "min", "max", "percent",
		"definition", "repartition", "stay",
	}
)

// spec reads a job. A line without lines below it is a job of one unnamed task, or of several that are alike: tasks=(x,
// y). Lines below it are one task each, of spread pool unless they say another, with what they feed behind an arrow:
// read min=1 -> map store.
func (l *Line) spec() (cluster.JobSpec, error) {
	if err := l.only(append(slices.Clone(jobOptions), append(taskOptions, "tasks", "coverage")...)...); err != nil {
		return cluster.JobSpec{}, err
	}
	spec := cluster.JobSpec{Version: l.text("version"), Source: l.text("source")}
	spec.Coverage, spec.Batch = l.has("coverage"), l.text("edges") == "batch"
	if order := l.text("edges"); order != "" && order != "batch" && order != "stream" {
		return spec, l.fault("edges=%s: it is batch or stream", order)
	}
	if s := l.text("scheduler"); s != "" {
		if err := spec.Scheduler.UnmarshalText([]byte(s)); err != nil {
			return spec, l.fault("scheduler=%s: %v", s, err)
		}
	}
	if err := l.numbers(field{"percent", &spec.Percent}); err != nil {
		return spec, err
	}
	if len(l.Input) == 0 {
		return spec, l.plainTasks(&spec)
	}
	for i, text := range l.Input {
		if err := l.taskLine(&spec, text, l.Number+1+i); err != nil {
			return spec, err
		}
	}
	return spec, nil
}

// plainTasks are tasks without lines of their own.
func (l *Line) plainTasks(spec *cluster.JobSpec) error {
	names := l.values("tasks")
	if len(names) == 0 {
		names = []string{""}
	}
	for _, name := range names {
		t, err := l.task(cluster.SpreadSingle)
		if err != nil {
			return err
		}
		t.Name, t.Percent = name, 0
		spec.Tasks = append(spec.Tasks, t)
	}
	return nil
}

func (l *Line) taskLine(spec *cluster.JobSpec, text string, number int) error {
	left, right, _ := strings.Cut(text, "->")
	line, err := command(strings.TrimSpace(left), number)
	if err != nil {
		return err
	}
	if err := line.only(taskOptions...); err != nil {
		return err
	}
	if len(line.words) > 0 || line.Name == "" {
		return line.fault("a line of a task is its name, options and, behind an arrow, what it feeds: read min=1 -> map")
	}
	t, err := line.task(cluster.SpreadPool)
	if err != nil {
		return err
	}
	t.Name = line.Name
	spec.Tasks = append(spec.Tasks, t)
	for _, to := range strings.FieldsFunc(right, func(r rune) bool { return r == ' ' || r == '\t' || r == ',' }) {
		spec.Edges = append(spec.Edges, cluster.Edge{From: t.Name, To: to})
	}
	return nil
}

// task reads the options of a task.
func (l *Line) task(spread cluster.Spread) (t cluster.TaskSpec, err error) {
	t = cluster.TaskSpec{
		Type: cmp.Or(l.text("type"), "noop"), Spread: spread, SpreadOver: l.text("over"),
		Pin:        cluster.MemberID(l.text("pin")),
		Partitions: l.values("keys"), Definition: []byte(l.text("definition")), Selector: l.labels(),
		Repartition: l.text("repartition") != "", Stay: l.has("stay"),
	}
	if s := l.text("spread"); s != "" {
		if err := t.Spread.UnmarshalText([]byte(s)); err != nil {
			return t, l.fault("%v", err)
		}
	}
	if s := l.text("handover"); s != "" {
		if err := t.Handover.UnmarshalText([]byte(s)); err != nil {
			return t, l.fault("%v", err)
		}
	}
	err = l.numbers(field{"weight", &t.Weight}, field{"attempts", &t.MaxAttempts}, field{"min", &t.Min},
		field{"max", &t.Max},
		field{"percent", &t.Percent})
	return t, err
}

// labels reads label=(gpu:yes, zone:x).
func (l *Line) labels() []cluster.Label {
	var out []cluster.Label
	for _, s := range l.values("label") {
		k, v, _ := strings.Cut(s, ":")
		out = append(out, cluster.Label{Key: k, Value: v})
	}
	slices.SortFunc(out, func(a, b cluster.Label) int { return cmp.Compare(a.Key, b.Key) })
	return out
}

// children reads into=(p, q), or a line for each child with its parents.
func (l *Line) children(id cluster.PartitionID) (out []cluster.Child) {
	_, _, key := id.Split()
	for _, k := range l.values("into") {
		out = append(out, cluster.Child{Key: k, Parents: []string{key}})
	}
	for _, text := range l.Input {
		words := strings.Fields(text)
		out = append(out, cluster.Child{Key: words[0], Parents: slices.Sorted(slices.Values(words[1:]))})
	}
	return out
}

func quoted(names []string) string { return fmt.Sprintf("%q", names) }
