package cluster

import (
	"fmt"
	"strings"

	"github.com/cockroachdb/datadriven"
)

// workflowOf reads a job of tasks of spread pool where lines follow the directive, one per task, else what jobOf reads:
//
//	submit etl scheduler=greedy coverage percent=50
//	read min=1 max=2 -> map
//	map percent=20 -> write
//	write
func workflowOf(d *datadriven.TestData, a arguments) JobSpec {
	if d.Cmd == "entry" || strings.TrimSpace(d.Input) == "" {
		return jobOf(a)
	}
	var spec JobSpec
	spec.Batch, spec.Coverage, spec.Percent = a.text("edges") == "batch", a.has("coverage"), a.number("percent", 0)
	if s := a.text("scheduler"); s != "" {
		must(spec.Scheduler.UnmarshalText([]byte(s)))
	}
	for line := range strings.Lines(d.Input) {
		left, right, _ := strings.Cut(line, "->")
		_, args, err := datadriven.ParseLine("task " + left)
		must(err)
		b := arguments{list: args}
		t := taskOf(b)
		t.Name, t.Spread, t.Min, t.Max, t.Percent = b.name(0), SpreadPool, b.number("min", 0), b.number("max", 0), b.number("percent", 0)
		t.Repartition = b.text("repartition") != ""
		if s := b.text("spread"); s != "" {
			must(t.Spread.UnmarshalText([]byte(s)))
		}
		spec.Tasks = append(spec.Tasks, t)
		for _, to := range strings.Fields(right) {
			spec.Edges = append(spec.Edges, Edge{t.Name, to})
		}
	}
	return spec
}

// slotLines has a line per job with tasks of spread pool.
func slotLines(v Value) (out []string) {
	for j := range v.Jobs() {
		var tasks []string
		for _, t := range v.JobSlots(j.ID) {
			s := fmt.Sprintf("%s%v", t.Task, t.Slots)
			if t.Finished {
				s = t.Task + " finished"
			}
			if len(t.Leaving) > 0 {
				s += fmt.Sprintf(" leaving %v", t.Leaving)
			}
			tasks = append(tasks, s)
		}
		if len(tasks) > 0 {
			out = append(out, fmt.Sprintf("%s: %s", j.ID, strings.Join(tasks, ", ")))
		}
	}
	return out
}
