package source_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"pgregory.net/rapid"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/source"
)

// dotted accepts the types that somebody's own program brings.
func dotted(name string) bool {
	return strings.Contains(name, ".") && !strings.HasPrefix(name, "rota.")
}

// TestJobScripts parses the files in testdata; -rewrite writes the present outcome. The command is the file's name.
func TestJobScripts(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, "testdata/jobs", func(t *testing.T, path string) {
		t.Parallel()
		datadriven.RunTest(t, path, func(_ *testing.T, d *datadriven.TestData) string {
			id, spec, err := source.ParseJob(d.Cmd, []byte(d.Input), types(), dotted)
			if m, ok := errors.AsType[*source.MalformedError](err); ok {
				return strings.Join(append([]string{m.Error()}, m.Lines...), "\n") + "\n"
			}
			return describeJob(id, spec)
		})
	})
}

func describeJob(id cluster.JobID, spec cluster.JobSpec) string {
	s := fmt.Sprintf("%s: version=%q scheduler=%s coverage=%t percent=%d batch=%t\n", id, spec.Version, spec.Scheduler, spec.Coverage,
		spec.Percent, spec.Batch)
	for _, t := range spec.Tasks {
		s += fmt.Sprintf("%s: %s %s min=%d max=%d percent=%d weight=%d %s attempts=%d %v %s", t.Name, t.Type, t.Spread, t.Min, t.Max, t.Percent, t.Weight,
			t.Handover, t.MaxAttempts, t.Partitions, t.Definition)
		if t.Repartition {
			s += " repartition"
		}
		s += "\n"
	}
	for _, e := range spec.Edges {
		s += fmt.Sprintf("%s → %s\n", e.From, e.To)
	}
	return s
}

// TestJobsThatAreRead are accepted by the cluster, and mean the same in JSON as in YAML: flow style is both.
func TestJobsThatAreRead(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 6).Draw(rt, "tasks")
		var tasks []string
		edges := 0
		for i := range n {
			after := rapid.SliceOfNDistinct(rapid.IntRange(0, n-1), 0, 2, rapid.ID[int]).Draw(rt, "after")
			names := make([]string, len(after))
			for k, a := range after {
				names[k] = fmt.Sprintf(`"t%d"`, a)
			}
			edges += len(names)
			tasks = append(tasks, fmt.Sprintf(`{"name": "t%d", "type": "tail", "max": %d, "after": [%s]}`, i, i+1, strings.Join(names, ", ")))
		}
		text := `{"scheduler": "greedy", "tasks": [` + strings.Join(tasks, ", ") + `]}`
		_, a, errA := source.ParseJob("j.json", []byte(text), types(), nil)
		_, b, errB := source.ParseJob("j.yaml", []byte(text), types(), nil)
		if (errA == nil) != (errB == nil) {
			rt.Fatalf("as JSON %v, as YAML %v", errA, errB)
		}
		if errA != nil {
			if !strings.Contains(errA.Error(), "after: ") {
				rt.Fatalf("%s\n%v", text, errA)
			}
			return
		}
		if got, want := describeJob("j", b), describeJob("j", a); got != want || len(a.Edges) != edges {
			rt.Fatalf("%s\nas YAML %s\nas JSON %s", text, got, want)
		}
		must.Succeed(rt, cluster.CheckCommand(cluster.SubmitJob{Job: "j", Spec: a}))
	})
}

// FuzzJob: whatever the bytes, a job that the cluster can take, or a fault that has its place.
func FuzzJob(f *testing.F) {
	for _, s := range []string{
		"id: j\nscheduler: greedy\ntasks:\n- {name: a, type: tail}\n- {name: b, type: my.type, after: [a], max: 2}\n",
		"tasks: [{name: a, type: tail, after: b}, {name: b, type: tail, after: a}]", "tasks: []", "tasks:\n- x", "type: noop",
		"scheduler: percentage\ntasks: [{name: a, type: tail, percent: 60}, {name: b, type: tail, percent: 60}]",
		"tasks: [{name: a, type: check, spread: single, config: {url: x}}]", `{"tasks":[{"name":"a","type":"tail"},{"name":"a","type":"tail"}]}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 4096 {
			return
		}
		for _, path := range []string{"a.yaml", "a.json"} {
			id, spec, err := source.ParseJob(path, data, types(), dotted)
			if err == nil {
				if err := cluster.CheckCommand(cluster.SubmitJob{Job: id, Spec: spec}); err != nil {
					t.Errorf("the cluster refuses it: %v", err)
				}
				continue
			}
			checkFault(t, data, err)
		}
	})
}
