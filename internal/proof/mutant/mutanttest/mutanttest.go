// Package mutanttest wants that the tests of a package find the flaws which are laid over its source.
//
// # Purpose
//
// A package that decides something has a table of flaws: what could be wrong with it, and the test that is to notice.
// [Fit] keeps the table beside a source that changes, in each run of the tests; [AreFound] builds the tests with the
// flaws and runs those that are named, which takes minutes.
package mutanttest

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/mutant"
)

// Flaw is a flaw and the test that finds it.
type Flaw struct {
	mutant.Flaw
	Found string // the pattern of -test.run
}

// New is a flaw of a file: each old text is replaced by the new one that follows it. found is the name of the test, as
// people write it.
func New(name, file, found string, oldNew ...string) Flaw {
	return Flaw{mutant.New(name, file, oldNew...), strings.ReplaceAll(found, " ", "_")}
}

// Set are the flaws without their tests.
func Set(flaws []Flaw) (set mutant.Set) {
	for _, f := range flaws {
		set = append(set, f.Flaw)
	}
	return set
}

// Fit looks whether each flaw can still be laid over the source. The build tag proof builds and finds them.
func Fit(t *testing.T, set mutant.Set) {
	t.Helper()
	root, err := mutant.Root(context.Background())
	must.Succeed(t, err)
	for _, f := range set {
		if _, err := f.Apply(root); err != nil {
			t.Error(err)
		}
	}
}

// AreFound builds the tests of a package with all flaws laid over the source, and has each found by the test that is
// named for it. What hangs is found too, if the flags say when the tests have to end. It takes minutes: without the build
// tag proof it is skipped.
func AreFound(t *testing.T, dir string, flaws []Flaw, flags ...string) {
	t.Helper()
	if !built {
		t.Skip("takes minutes: the build tag proof plays it")
	}
	root, err := mutant.Root(context.Background())
	must.Succeed(t, err)
	set := Set(flaws)
	program, err := set.BuildTests(within(t, 5*time.Minute), root, t.TempDir(), "./"+dir)
	must.Succeed(t, err)
	for _, f := range flaws {
		t.Run(f.Name, func(t *testing.T) {
			environ, err := set.Environ(f.Name)
			must.Succeed(t, err)
			cmd := exec.CommandContext(within(t, 5*time.Minute), program,
				append([]string{"-test.run", f.Found}, flags...)...)
			cmd.Dir, cmd.Env = filepath.Join(root, filepath.FromSlash(dir)), environ
			out, err := cmd.CombinedOutput()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || !strings.Contains(string(out), "--- FAIL: ") &&
				!strings.Contains(string(out), "panic: ") {
				t.Errorf("%s does not find it: %v\n%s", f.Found, err, out)
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
