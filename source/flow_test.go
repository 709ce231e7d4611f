package source_test

import (
	"strings"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/source"
	"github.com/rota-run/rota/work"
)

// flowTypes are types of tasks that hand on segments, beside those of types.
func flowTypes() work.Types {
	all := types()
	accepts := all["noop"].New
	for name, s := range map[string]work.Segments{
		"read": {Out: "order"}, "name": {In: "order", Out: "text"}, "pass": {In: work.AnySegments, Out: work.AnySegments},
		"keep": {In: "order", Out: "order", Keyed: true}, "write": {In: "order"},
	} {
		all[name] = work.Type{Name: name, Segments: &s, New: accepts}
	}
	return all
}

// TestFlows: what can be a flow has its edges, and what cannot is refused at its place.
func TestFlows(t *testing.T) {
	t.Parallel()
	const read = "- {name: r, type: read}\n"
	for tasks, want := range map[string]string{
		read + "- {name: w, type: write, from: r}":                                                                                      "",
		read + "- {name: a, type: pass, from: r}\n- {name: w, type: write, from: a}":                                                    "",
		read + "- {name: a, type: keep, keyed: true, from: {task: r, by: id}}":                                                          "",
		read + "- {name: a, type: foreign.x, from: {task: r, shards: 1}}":                                                               "",
		"- {name: r, type: read, parts: 4}\n- {name: w, type: write, from: {task: r, shards: 4}}":                                       "",
		"- {name: r, type: read, parts: 65536}\n- {name: w, type: write, from: r}":                                                      "2:32: parts: 65536",
		"- {name: r, type: foreign.x, parts: 2}\n- {name: w, type: write, from: r}":                                                     "",
		"- {name: r, type: foreign.x}\n- {name: w, type: foreign.y, keyed: true, from: {task: r, by: id}}":                              "",
		read + "- {name: w, type: write, from: x}":                                                                                      `3:32: from: there is no task "x"`,
		read + "- {name: w, type: write, from: 7}":                                                                                      `3:32: from: there is no task "7"`,
		read + "- {name: w, type: write, from: {shards: 2}}":                                                                            "3:32: from: the field task is missing",
		read + "- {name: w, type: write, from: [[r]]}":                                                                                  "from: a list, want the name of a task or a mapping",
		read + "- {name: w, type: write, from: w}":                                                                                      "3:32: from: it takes from itself (drop it)",
		read + "- {name: w, type: write, from: [r, {task: r, by: a}]}":                                                                  `3:36: from: duplicate task "r"`,
		"- {name: r, type: read, spread: single}\n- {name: w, type: write, from: r}":                                                    "3:32: from: the task r is of spread single",
		"- {name: r, type: tail}\n- {name: w, type: write, from: r}":                                                                    "puts out no segments (after: r waits for its end)",
		read + "- {name: a, type: write, from: r}\n- {name: w, type: write, from: a}":                                                   "4:32: from: the type of task a, write, puts out no segments",
		read + "- {name: a, type: name, from: r}\n- {name: w, type: write, from: a}":                                                    "4:32: from: task a puts out text, and type write takes order",
		read + "- {name: a, type: keep, from: {task: r, by: id}}":                                                                       "3:3: type keep keeps state by key, and keyed is missing",
		read + "- {name: a, type: name, keyed: true, from: {task: r, by: id}}":                                                          "3:25: keyed: type name keeps no state",
		"- {name: a, type: foreign.x, keyed: true}\n- {name: w, type: write, from: a}":                                                  "2:30: keyed: only a task that takes segments",
		read + "- {name: a, type: keep, keyed: true, from: r}":                                                                          "has no key",
		read + "- {name: s, type: read}\n- {name: a, type: keep, keyed: true, from: [{task: r, by: id}, {task: s, by: id, shards: 2}]}": "has other shards than",
		read + "- {name: w, type: write, parts: 2, from: r}":                                                                            "3:26: parts: only a task that reads from outside has parts",
		read + "- {name: w, type: tail, from: r}":                                                                                       "3:25: from: type tail takes no segments",
		read + "- {name: w, type: write, from: r}\n- {name: t, type: tail, parts: 2}":                                                   "4:25: parts: type tail reads no segments",
		read + "- {name: w, type: read, from: r}":                                                                                       "3:25: from: type read reads from outside",
		read + "- {name: a, type: write, from: r}\n- {name: w, type: write}":                                                            "4:3: type write takes segments, and from is missing",
		read + "- {name: a, type: pass, from: [r, b]}\n- {name: b, type: pass, from: a}":                                                "from: the tasks take from each other: a → b → a",
		read + "- {name: a, type: write, from: r}\n- {name: b, type: noop, after: a}":                                                   "4:32: after: a task of this job takes segments with from",
	} {
		_, spec, err := source.ParseJob("f.yaml", []byte("tasks:\n"+tasks+"\n"), flowTypes(), dotted)
		switch {
		case want == "" && (err != nil || len(spec.Edges) == 0 || spec.Batch):
			t.Errorf("%s:\n%v, edges %v, batch %v", tasks, err, spec.Edges, spec.Batch)
		case want != "" && (err == nil || !placed(err, want)):
			t.Errorf("%s:\ngot  %v\nwant %s", tasks, err, want)
		}
	}
}

// placed reports whether an error is at the place and has the message of "LINE:COLUMN: message"; the name of the task is between them.
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
	} {
		spec, err := source.ReadTask("t", []byte(in), all)
		if want == "" && (err != nil || len(spec.Tasks) != 1) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: got %v, want %q", in, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "t:1:") {
			t.Errorf("%s: a line of a program: %v", in, err)
		}
	}
	for _, id := range []string{"", "rota.x", "a b"} {
		must.Succeed(t, must.Err(source.ReadTask("x", []byte(`{"type":"tail"}`), all)))
		if _, err := source.ReadTask(clusterID(id), []byte(`{"type":"tail"}`), all); err == nil {
			t.Errorf("the id %q was taken", id)
		}
	}
}
