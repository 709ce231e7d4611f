package mutanttest

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/proof/check"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/mutant"
)

// Prove walks every order of events within the bounds of each scenario. It fails where one breaks a
// promise, or has more than so many states.
func Prove[S any](t *testing.T, states int, scenarios map[string]check.Model[S]) {
	t.Helper()
	for name, m := range scenarios {
		t.Run(name, func(t *testing.T) {
			r := check.Explore(m, check.Options{States: states, Violations: 1})
			t.Logf("%d states, %d moves, depth %d", r.States, r.Moves, r.Depth)
			if !r.Complete && len(r.Violations) == 0 {
				t.Error("not walked to the end")
			}
			for _, v := range r.Violations {
				t.Errorf("%s:\n%s", v.Promise, strings.Join(v.Trace, "\n"))
			}
		})
	}
}

// WalkedFit looks whether each flaw of testdata/flaws.txt can still be laid over the source, and names a scenario.
func WalkedFit[S any](t *testing.T, scenarios map[string]check.Model[S]) {
	t.Helper()
	list := listed(t, "scenario", "breaks")
	for _, f := range list {
		if _, ok := scenarios[f.Notes["scenario"]]; !ok {
			t.Errorf("%s: there is no scenario %q", f.Name, f.Notes["scenario"])
		}
	}
	fit(t, list)
}

// WalkedAreFound builds the tests of a package with the flaws of its testdata/flaws.txt. Each must be
// found by its scenario in one of the tests, which call [Prove], and by a promise that the list names.
func WalkedAreFound(t *testing.T, dir, tests string) {
	t.Helper()
	root, err := mutant.Root(context.Background())
	must.Succeed(t, err)
	list := listed(t, "scenario", "breaks")
	set := mutant.Flaws(list)
	program, err := set.BuildTests(within(t, 5*time.Minute), root, t.TempDir(), "./"+dir)
	must.Succeed(t, err)
	run := func(scenario string, environ []string) (string, error) {
		pattern := tests + "/^" + strings.ReplaceAll(scenario, " ", "_") + "$"
		cmd := exec.CommandContext(within(t, 10*time.Minute), program, "-test.run", pattern) //nolint:gosec // of the list
		cmd.Dir, cmd.Env = filepath.Join(root, filepath.FromSlash(dir)), environ
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := run(".*", set.Sound()); err != nil {
		t.Fatalf("without a flaw: %v\n%s", err, out)
	}
	for _, f := range list {
		t.Run(f.Name, func(t *testing.T) {
			environ, err := set.Environ(f.Name)
			must.Succeed(t, err)
			out, err := run(f.Notes["scenario"], environ)
			var exit *exec.ExitError
			if !errors.As(err, &exit) || !breaks(out, f.Notes["breaks"]) {
				t.Errorf("%q does not find it by any of %q: %v\n%.300s", f.Notes["scenario"], f.Notes["breaks"], err,
					out)
			}
		})
	}
}

func breaks(out, promises string) bool {
	for p := range strings.SplitSeq(promises, "; ") {
		if strings.Contains(out, ": "+p+":\n") {
			return true
		}
	}
	return false
}
