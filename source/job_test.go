package source_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"pgregory.net/rapid"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/stories"
	"github.com/rota-run/rota/source"
	"github.com/rota-run/rota/work"
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
	s := fmt.Sprintf("%s: version=%q scheduler=%s coverage=%t percent=%d batch=%t\n", id, spec.Version, spec.Scheduler,
		spec.Coverage,
		spec.Percent, spec.Batch)
	for _, t := range spec.Tasks {
		s += fmt.Sprintf("%s: %s %s min=%d max=%d percent=%d weight=%d %s attempts=%d %v %s", t.Name, t.Type, t.Spread,
			t.Min, t.Max, t.Percent, t.Weight,
			t.Handover, t.MaxAttempts, t.Partitions, t.Definition)
		if t.Repartition {
			s += " repartition"
		}
		if t.Stay {
			s += " stay"
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
			tasks = append(tasks, fmt.Sprintf(`{"name": "t%d", "type": "tail", "max": %d, "after": [%s]}`, i, i+1,
				strings.Join(names, ", ")))
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
		"tasks: [{name: a, type: tail, after: b}, {name: b, type: tail, after: a}]", "tasks: []", "tasks:\n- x",
		"type: noop",
		"scheduler: percentage\ntasks: [{name: a, type: tail, percent: 60}, {name: b, type: tail, percent: 60}]",
		"tasks: [{name: a, type: check, spread: single, config: {url: x}}]",
		`{"tasks":[{"name":"a","type":"tail"},{"name":"a","type":"tail"}]}`,
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

// flowTypes are types of tasks that hand on segments, beside those of types.
func flowTypes() work.Types {
	all := types()
	accepts := all["noop"].New
	for name, s := range map[string]work.Segments{
		"read": {Out: "order"}, "name": {In: "order", Out: "text"},
		"pass": {In: work.AnySegments, Out: work.AnySegments},
		"keep": {In: "order", Out: "order", Keyed: true}, "write": {In: "order"},
	} {
		all[name] = work.Type{Name: name, Segments: &s, New: accepts}
	}
	return all
}

// TestFlows: what can be a flow has its edges, and what cannot is refused at its place.
func TestFlows(t *testing.T) {
	t.Parallel()
	for tasks, said := range stories.Rows(t, "testdata/flows.txt", "$READ", "- {name: r, type: read}\n") {
		_, spec, err := source.ParseJob("f.yaml", []byte("tasks:\n"+tasks+"\n"), flowTypes(), dotted)
		switch good := len(said.Want) == 0; {
		case good && (err != nil || len(spec.Edges) == 0 || spec.Batch):
			t.Errorf("%s:\n%v, edges %v, batch %v", tasks, err, spec.Edges, spec.Batch)
		case !good && (err == nil || !placed(err, said.Want[0])):
			t.Errorf("%s:\ngot  %v\nwant %s", tasks, err, said.Want)
		}
	}
}

// TestOneShardIsNone: a task that says what it would have without a word is the same, and is not started anew.
func TestOneShardIsNone(t *testing.T) {
	t.Parallel()
	for _, from := range []string{"r", "{task: r}", "{task: r, shards: 1}"} {
		tasks := "tasks:\n- {name: r, type: read}\n- {name: w, type: write, from: " + from + "}\n"
		_, spec, err := source.ParseJob("f.yaml", []byte(tasks), flowTypes(), nil)
		must.Succeed(t, err)
		if got, want := string(spec.Tasks[1].Definition), `{"from":[{"task":"r"}]}`; got != want {
			t.Errorf("from: %s: the definition is %s, want %s", from, got, want)
		}
	}
}

// placed reports whether an error is at the place and has the message of "LINE:COLUMN: message"; the name of the task
// is between them.
func placed(err error, want string) bool {
	place, message, ok := strings.Cut(want, ": ")
	if !ok || !strings.Contains(place, ":") {
		return strings.Contains(err.Error(), want)
	}
	return strings.HasPrefix(err.Error(), "f.yaml:"+place+": ") && strings.Contains(err.Error(), ": "+message)
}

// TestReadTask: a definition that a program gives is checked like a file, and its faults have no line.
func TestReadTask(t *testing.T) {
	t.Parallel()
	all := types()
	bare := all["noop"]
	bare.Name = "bare"
	all["bare"] = bare
	for in, want := range map[string]string{
		`{"type":"check","config":{"url":"https://a"}}`:   "", // it has a period of its own
		`{"type":"bare","every":"10s"}`:                   "",
		`{"type":"bare","cron":"0 3 * * *"}`:              "",
		`{"type":"tail"}`:                                 "",
		`{"type":"bare"}`:                                 "type bare is periodic and has no period of its own",
		`{"type":"tail","every":"10s"}`:                   "type tail runs all the time",
		`{"type":"tail","spread":"pool","min":3,"max":2}`: "max: 2 is below min, which is 3",
		`{"type":"tail","spread":"pool","min":2,"max":2}`: "",
		`{"type":"tail","spread":"pool","stay":true}`:     "stay is not for spread pool",
		`{"type":"tail","config":{"a":1e999}}`:            "the number 1e999 is out of range",
		``:                                                "unexpected end of JSON input",
	} {
		spec, err := source.ReadTask("t", []byte(in), all)
		if want == "" && (err != nil || len(spec.Tasks) != 1) || want != "" &&
			(err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: got %v, want %q", in, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "t:1:") {
			t.Errorf("%s: a line of a program: %v", in, err)
		}
	}
	for _, id := range []string{"", "rota.x", "a b"} {
		must.Succeed(t, must.Err(source.ReadTask("x", []byte(`{"type":"tail"}`), all)))
		if _, err := source.ReadTask(cluster.JobID(id), []byte(`{"type":"tail"}`), all); err == nil {
			t.Errorf("the id %q was taken", id)
		}
	}
}

// types are task types that check their config in all the ways that a type may.
func types() work.Types {
	type checkConfig struct {
		URL    string `json:"url"`
		Expect struct {
			Status []int `json:"status"`
		} `json:"expect"`
		Headers map[string]string `json:"headers"`
		Big     json.Number       `json:"big"`
		Any     any               `json:"any"`
		Steps   []struct {
			Do string `json:"do"`
		} `json:"steps"`
	}
	check := func(d work.Definition) (work.Runner, error) {
		var c checkConfig
		if err := work.DecodeConfig(d, &c); err != nil {
			return nil, err
		}
		var errs []error
		if !strings.HasPrefix(c.URL, "https://") {
			errs = append(errs, &work.ConfigError{Path: "config.url", Err: fmt.Errorf("%q is not https", c.URL),
				Hint: "begin it with https://"})
		}
		for i, s := range c.Expect.Status {
			if s < 100 {
				errs = append(errs, &work.ConfigError{Path: fmt.Sprintf("config.expect.status[%d]", i),
					Err: fmt.Errorf("%d is not a status", s)})
			}
		}
		for k := range c.Headers {
			if strings.Contains(k, " ") {
				errs = append(errs, &work.ConfigError{Path: "config.headers." + k, Err: errors.New("unknown field"),
					Hint: "no spaces"})
			}
		}
		return work.RunnerFunc(nil), errors.Join(errs...)
	}
	accepts := func(work.Definition) (work.Runner, error) { return work.RunnerFunc(nil), nil }
	return work.Types{
		"check": {Name: "check", Periodic: true, DefaultEvery: time.Minute, New: check},
		"noop":  {Name: "noop", Periodic: true, New: accepts},
		"tail":  {Name: "tail", New: accepts, Stays: true},
		"plain": {Name: "plain", New: func(work.Definition) (work.Runner, error) {
			return nil, errors.New("no luck\ntoday")
		}},
		"wild":           {Name: "wild", New: func(work.Definition) (work.Runner, error) { panic("wild") }},
		"rota.directory": {Name: "rota.directory", New: accepts},
	}
}

// TestScripts parses the files in testdata; -rewrite writes the present outcome. The command is the file's name; with
// the argument escaped the input is a Go string without its quotes.
func TestScripts(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, "testdata/files", func(t *testing.T, path string) {
		t.Parallel()
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			in := d.Input
			if d.HasArg("escaped") {
				var err error
				if in, err = strconv.Unquote(`"` + in + `"`); err != nil {
					t.Fatalf("%s: the input %s: %v", d.Pos, in, err)
				}
			}
			return outcome(d.Cmd, in)
		})
	})
}

func outcome(path, in string) string {
	id, spec, err := source.Parse(path, []byte(in), types())
	if m, ok := errors.AsType[*source.MalformedError](err); ok {
		return strings.Join(append([]string{m.Error()}, m.Lines...), "\n") + "\n"
	}
	return describe(id, spec)
}

func describe(id cluster.JobID, spec cluster.JobSpec) string {
	t := spec.Tasks[0]
	s := fmt.Sprintf("%s: %s %s weight=%d %s", id, t.Type, t.Spread, t.Weight, t.Handover)
	for _, l := range t.Selector {
		s += fmt.Sprintf(" %s=%s", l.Key, l.Value)
	}
	if t.SpreadOver != "" || t.Pin != "" || t.MaxAttempts != 0 || len(t.Partitions) > 0 {
		s += fmt.Sprintf(" over=%q pin=%q attempts=%d partitions=%q", t.SpreadOver, t.Pin, t.MaxAttempts, t.Partitions)
	}
	if t.Stay {
		s += " stay"
	}
	return s + "\n" + string(t.Definition) + "\n"
}
