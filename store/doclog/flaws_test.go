//go:build proof

package doclog

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/mutant"
)

// flaw is a flaw of this package and the test that finds it.
type flaw struct {
	mutant.Flaw
	found string // the pattern of -test.run
}

func newFlaw(name, file, found string, oldNew ...string) flaw {
	return flaw{mutant.New(name, "store/doclog/"+file, oldNew...), strings.ReplaceAll(found, " ", "_")}
}

// flaws are what could be wrong with the code, each found by a test that it names.
func flaws() []flaw {
	return []flaw{
		newFlaw("an append does not look at the base afterwards", "append.go", "Interleaving/^an appender and a trimmer$",
			"	if m.Base < index {", "	if m.Base >= 0 {"),
		newFlaw("an append below the base is made again", "append.go", "Interleaving/^an appender that is passed$",
			"return index, l.confirm(ctx, index, s.version)",
			"err := l.confirm(ctx, index, s.version)\nvar below belowError\nif !errors.As(err, &below) {\nreturn index, err\n}\ncontinue"),
		newFlaw("an append whose base cannot be read is called not done", "append.go", "Interleaving/^two appenders, two faults$",
			"		return unknown(err)\n	}\n	if m.Base < index {", "		return err\n	}\n	if m.Base < index {"),
		newFlaw("an append whose answer was lost is called not done", "append.go", "Interleaving/^two appenders, two faults$",
			"			lost = err\n		case lost != nil:", "			return stand{}, nil\n		case lost != nil:"),
		newFlaw("an index taken by a lost create counts as another's", "append.go", "Interleaving/^two appenders, two faults$",
			"return l.whose(ctx, index, e.name)", "return stand{}, nil"),
		newFlaw("an index that was trimmed and taken again counts as another's", "append.go", "Interleaving/^two appenders that are passed, one reply lost$",
			"	if m.Base >= index {", "	if m.Base > index && m.Base < index {"),
		newFlaw("the seed at the first index is passed by", "append.go", "Interleaving/^a seed and two appenders$",
			"	if index > 1 {\n		l.reached", "	if index > 0 {\n		l.reached"),
		newFlaw("a seed is put into a log in use", "seed.go", "Interleaving/^a seed of a log in use$",
			"if m.Base == 0 {", "if m.Base < index {"),
		newFlaw("a trim removes before it raises the base", "trim.go", "Interleaving/^an appender, a trimmer and a reader$",
			"	m, err := l.change(ctx", "	if m, _, err := l.readMeta(ctx); err == nil {\nm.Base = max(m.Base, min(index, m.Snapshot.Index))\n_ = l.free(ctx, m)\n}\n	m, err := l.change(ctx"),
		newFlaw("a trim passes the snapshot", "trim.go", "TestLog/memory/trim_never",
			"min(index, m.Snapshot.Index)", "index"),
		newFlaw("a trim removes what is behind the base", "trim.go", "Interleaving/^two trims of one snapshot$",
			"ok && index <= m.Base {", "ok && index > 0 {"),
		newFlaw("a trim believes the list", "trim.go", "Interleaving/^a trimmer, lists lag$",
			"		if gone[index] {", "		if true {"),
		newFlaw("the head comes from a list", "head.go", "Interleaving/^two appenders and a reader, lists lag$",
			"	low, step := from, uint64(1)\n", "	docs, err := l.docs.List(ctx, l.entries())\nif n := len(docs); n > 0 && err == nil {\nif last, _ := l.indexOf(docs[n-1].Key); last > from {\nreturn last, nil\n}\n}\nif err == nil {\nreturn from, nil\n}\n	low, step := from, uint64(1)\n"),
		newFlaw("the head is the one that is remembered", "read.go", "Interleaving/^two appenders and a reader$",
			"head, err = l.probe(ctx, last)", "head = max(from, last)"),
		newFlaw("a read looks at the base first", "read.go", "Interleaving/^an appender, a trimmer and a reader$",
			"records, ended, err := l.run(", "m, _, early := l.readMeta(ctx)\n		records, ended, err := l.run(",
			"m, _, err := l.readMeta(ctx) // last", "err = early // last"),
		newFlaw("a read does not look whether a gap was trimmed", "read.go", "Interleaving/^a reader ahead of its memory$",
			"case head < m.Base:", "case false:"),
		newFlaw("a snapshot is named before its parts are there", "snapshot.go", "Interleaving/^two trimmers and a reader$",
			"	if err := l.writeParts(ctx, p, s.Data); err != nil {\n		return err\n	}\n", "",
			"	l.sweepParts(ctx, m.Snapshot)\n", "	if err := l.writeParts(ctx, p, s.Data); err != nil {\n		return err\n	}\n	l.sweepParts(ctx, m.Snapshot)\n"),
		newFlaw("an older snapshot replaces a newer one", "snapshot.go", "Interleaving/^two trimmers$",
			"		if m.Snapshot.Index < p.Index {", "		if m.Snapshot != p {"),
		newFlaw("parts of newer snapshots are removed", "snapshot.go", "Interleaving/^two trimmers$",
			"ok && index <= current.Index && name", "ok && index > 0 && name"),
		newFlaw("parts of older snapshots stay", "snapshot.go", "Interleaving/^two trimmers$",
			"ok && index <= current.Index && name", "ok && index > current.Index && name"),
	}
}

// TestFlawsAreFound builds the tests of this package with each flaw laid over the source, and runs the one that is to find it.
func TestFlawsAreFound(t *testing.T) {
	t.Setenv("GOFLAGS", os.Getenv("GOFLAGS")+" -tags=proof") // for the long interleavings
	root, err := mutant.Root(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range flaws() {
		t.Run(f.Name, func(t *testing.T) {
			program, err := f.BuildTests(within(t, 5*time.Minute), root, t.TempDir(), "./store/doclog")
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(within(t, 5*time.Minute), program, "-test.run", f.found)
			cmd.Dir = filepath.Join(root, "store", "doclog")
			out, err := cmd.CombinedOutput()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || !strings.Contains(string(out), "--- FAIL: ") {
				t.Errorf("%s does not find it: %v\n%s", f.found, err, out)
			}
			t.Logf("%.2000s", out)
		})
	}
}

func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}
