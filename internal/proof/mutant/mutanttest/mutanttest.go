// Package mutanttest wants that the tests of a package find the flaws which are laid over its source.
//
// # Purpose
//
// A package that decides something has a list of flaws, testdata/flaws.txt: what could be wrong with it, and the test
// that is to notice. [Fit] keeps the list beside a source that changes, in each run of the tests; [AreFound] builds the
// tests with the flaws and runs those that are named, which takes minutes. [WalkedFit] and [WalkedAreFound] are the
// same where the scenarios of a proof are to notice.
package mutanttest

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/mutant"
)

// Fit looks whether each flaw of testdata/flaws.txt can still be laid over the source, and names the test that finds
// it.
func Fit(t *testing.T) {
	t.Helper()
	list := listed(t, "found")
	for _, f := range list {
		if f.Notes["found"] == "" {
			t.Errorf("%s: no test is said to find it", f.Name)
		}
	}
	fit(t, list)
}

func fit(t *testing.T, list []mutant.Listed) {
	t.Helper()
	root, err := mutant.Root(context.Background())
	must.Succeed(t, err)
	for _, f := range list {
		if _, err := f.Apply(root); err != nil {
			t.Error(err)
		}
	}
}

// AreFound builds the tests of a package with all flaws of its testdata/flaws.txt laid over the source, and has each
// found by the test that is named for it: found is the pattern of -test.run, with the names as people write them. What
// hangs is found too, if the flags say when the tests have to end. It takes minutes: without the build tag proof it is
// skipped.
func AreFound(t *testing.T, dir string, flags ...string) {
	t.Helper()
	if !built {
		t.Skip("takes minutes: the build tag proof plays it")
	}
	root, err := mutant.Root(context.Background())
	must.Succeed(t, err)
	list := listed(t, "found")
	set := mutant.Flaws(list)
	program, err := set.BuildTests(within(t, 5*time.Minute), root, t.TempDir(), "./"+dir)
	must.Succeed(t, err)
	for _, f := range list {
		t.Run(f.Name, func(t *testing.T) {
			environ, err := set.Environ(f.Name)
			must.Succeed(t, err)
			found := strings.ReplaceAll(f.Notes["found"], " ", "_")
			cmd := exec.CommandContext(within(t, 5*time.Minute), program,
				append([]string{"-test.run", found}, flags...)...)
			cmd.Dir, cmd.Env = filepath.Join(root, filepath.FromSlash(dir)), environ
			out, err := cmd.CombinedOutput()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || !strings.Contains(string(out), "--- FAIL: ") &&
				!strings.Contains(string(out), "panic: ") {
				t.Errorf("%s does not find it: %v\n%s", found, err, out)
			}
			t.Logf("%.2000s", out)
		})
	}
}

// listed reads testdata/flaws.txt, with what else is said of each flaw.
func listed(t *testing.T, keys ...string) []mutant.Listed {
	t.Helper()
	text, err := os.ReadFile("testdata/flaws.txt")
	must.Succeed(t, err)
	list, err := mutant.ParseList(string(text), keys...)
	must.Succeed(t, err)
	return list
}

func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}
