package command

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/stories"
	"github.com/rota-run/rota/journal"
	"github.com/rota-run/rota/publish"
	"github.com/rota-run/rota/work"
)

// TestSeveralSinksInAText: a variable of the environment has several, separated by blanks; a path may have blanks.
func TestSeveralSinksInAText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{ // order-free: each by itself
		"stdout":                        {"stdout"},
		" stdout  otlp://a nats://b?x ": {"stdout", "otlp://a", "nats://b?x"},
		"none":                          {"none"},
		"file:/tmp/my samples.jsonl":    {"file:/tmp/my samples.jsonl"},
		"":                              {""},
	} {
		if got := sinkTexts([]string{text, "file:x"}); !slices.Equal(got, append(want, "file:x")) {
			t.Errorf("%q is %q", text, got)
		}
	}
	dirs, from, err := dirsFrom(env{getenv: func(string) string { return "a,b c" }}, nil, nil)
	if !slices.Equal(dirs, []string{"a", "b c"}) || from != "environment ROTA_TASKS" || err != nil {
		t.Errorf("directories of tasks are separated by commas: %q, %s, %v", dirs, from, err)
	}
}

func TestBadSinks(t *testing.T) {
	t.Parallel()
	e := env{getenv: func(name string) string { return map[string]string{"TOKEN": "hunter2-x9"}[name] }}
	for texts, said := range stories.Rows(t, "testdata/sinks.txt") {
		_, _, err := e.openPublishers(strings.Split(texts, " "))
		var f *fault
		text := fmt.Sprint(err)
		if errors.As(err, &f) {
			text += " try: " + f.try
		}
		if err == nil || !said.In(text) || strings.Contains(text, "hunter2") {
			t.Errorf("%s: %s", texts, text)
		}
	}
}

func TestSinksHaveNames(t *testing.T) {
	t.Parallel()
	e := env{getenv: func(string) string { return "hunter2-x9" }, stdout: &strings.Builder{}}
	texts := []string{
		"stdout", "elastic+tls://a,b:1?index=x&api-key=env:K",
		"influx://h?bucket=b&org=o&token=env:K otlp://[::1]/up/metrics?token=env:K",
		"nats://n?subject=a.b&token=env:K", "remotewrite://p?user=u&password=env:K",
		"influx://h?database=d&user=u&password=env:K",
	}
	p, said, err := e.openPublishers(texts)
	must.Succeed(t, err)
	want := "stdout, elastic://a:9200,b:1?index=x, influx://h:8086?bucket=b, otlp://[::1]:4318/up/metrics, nats://n:4222?subject=a.b, remotewrite://p:9090, influx://h:8086?database=d"
	var names []string
	for _, s := range publish.Sinks(p) {
		names = append(names, s.Name)
	}
	if got := strings.Join(names, ", "); got != want || said != "samples to "+want {
		t.Errorf("got %s, %s", got, said)
	}
}

// attic is a storage of a program.
type attic struct{ place string }

func (attic) Append(context.Context, ...journal.Record) error { return nil }

// withAttic is a program with a storage and files of its own.
func withAttic() env {
	return env{own: Program{
		Storages: []Kind[journal.Appender]{{"attic", func(rest string) (journal.Appender, error) {
			if rest == "" {
				return nil, errors.New("which one")
			}
			return attic{rest}, nil
		}}},
		Files: []Kind[fs.FS]{{"attic", func(rest string) (fs.FS, error) {
			if rest == "" {
				return nil, errors.New("which one")
			}
			return fstest.MapFS{}, nil
		}}},
	}}
}

func TestStorages(t *testing.T) {
	t.Parallel()
	e := withAttic()
	all, err := e.openStorages([]string{"attic:left", "file:" + filepath.Join(t.TempDir(), "j")})
	if err != nil || len(all) != 2 || all[0] != (attic{"left"}) {
		t.Errorf("%v, %v", all, err)
	}
	for text, want := range map[string]string{
		"":              `storage "": unknown kind`,
		"atic:left":     "try: --storage attic:…",
		"file:":         "try: --storage file:PATH",
		"file:/no/such": "no such file",
		"attic:":        "which one",
		"x:a?token=b":   `storage "x:`,
	} {
		_, err := e.openStorages([]string{text})
		var f *fault
		if !errors.As(err, &f) || !strings.Contains(err.Error()+" try: "+f.try, want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	if _, err := e.openStorages([]string{"attic:a", "attic:a"}); err == nil || !strings.Contains(err.Error(), "twice") {
		t.Errorf("twice: %v", err)
	}
}

func TestFilesOfOnesOwn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		sources []string
		want    string // "" for none
	}{
		{[]string{"a=attic:left", "b=attic:left"}, ""},
		{[]string{"a=attic:"}, "source a: which one"},
		{[]string{"a=attic:left", "a=attic:right"}, "source a: it is there twice"},
		{[]string{"a=cellar:left"}, "cellar:left is not a directory"},
	} {
		m := &config{env: withAttic(), sources: c.sources}
		err := m.declare()
		if c.want == "" && (err != nil || len(m.node.Files) != len(c.sources)) || c.want != "" &&
			(err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%v: %v, %d file systems, want %q", c.sources, err, len(m.node.Files), c.want)
		}
	}
	dir := t.TempDir()
	m := &config{dirs: []string{filepath.Join(dir, "a", "tasks"), filepath.Join(dir, "b", "tasks")}}
	for _, d := range m.dirs {
		must.Succeed(t, os.MkdirAll(d, 0o700))
	}
	if err := m.declare(); err != nil || !slices.Equal(m.node.Sources["tasks"], m.dirs) {
		t.Errorf("%v, sources %v", err, m.node.Sources)
	}
	twice := env{own: Program{Types: []work.Type{{Name: "noop"}}}}
	if _, err := twice.typesOf(allowed{}, false); err == nil {
		t.Error("a program has a type of the name of a built-in one")
	}
	none := Program{Storages: []Kind[journal.Appender]{{Scheme: "file"}}, Files: []Kind[fs.FS]{{}}}
	if err := none.check(nil); err == nil ||
		strings.Count(err.Error(), "\n") != 1 {
		t.Errorf("a wrong program: %v", err)
	}
}
