package command

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/journal"
)

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
	none := Program{Storages: []Kind[journal.Appender]{{Scheme: "file"}}, Files: []Kind[fs.FS]{{}}}
	if err := none.check(nil); err == nil ||
		strings.Count(err.Error(), "\n") != 1 {
		t.Errorf("a wrong program: %v", err)
	}
}
