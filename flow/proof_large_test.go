//go:build proof

package flow

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/mutant"
)

// TestProofLarge is TestProof with two workers of each stage: a minute or two, and some GB of memory.
func TestProofLarge(t *testing.T) {
	two := func(messages int, split bool, f faults) model {
		return model{messages: messages, workers: 2, split: split, faults: f}
	}
	prove(t, []scenario{
		{"two messages", two(2, false, faults{})},
		{"two messages, no transactions", two(2, true, faults{})},
		{"a worker dies", two(1, false, faults{crash: 1})},
		{"a worker dies, no transactions", two(1, true, faults{crash: 1})},
		{"two workers die", two(1, false, faults{crash: 2})},
		{"a commit is late", two(1, false, faults{late: 1})},
		{"a write is late", two(1, true, faults{late: 1})},
		{"an answer is lost, a lease ends", two(1, true, faults{lost: 1, lapse: 1})},
		{"a worker dies, a lease ends", two(1, true, faults{crash: 1, lapse: 1})},
		{"a zombie commits late", two(1, false, faults{lapse: 1, late: 1})},
		{"a zombie writes late", two(1, true, faults{lapse: 1, late: 1})},
		{"a commit is done twice", two(1, false, faults{twice: 1})},
		{"a write is done twice", two(1, true, faults{twice: 1})},
		{"a consumer lags, a worker dies", two(1, false, faults{lag: 1, crash: 1})},
		{"the server starts again, a worker dies", two(1, false, faults{boot: 1, crash: 1})},
		{"the server starts again, an answer is lost", two(1, true, faults{boot: 1, lost: 1})},
		{"halves, a lease ends", model{messages: 1, workers: 2, split: true, halves: true, faults: faults{lapse: 1}}},
		{"halves, a worker dies, a write is late", model{messages: 1, workers: 1, split: true, halves: true, faults: faults{crash: 1, late: 1}}},
	})
}

// TestSeedsMany is TestSeeds with more walks.
func TestSeedsMany(t *testing.T) { walks(t, 20_000) }

// TestFlawsAreFound builds the tests of this package with all flaws laid over the source, and walks for each the scenario that is to find it.
func TestFlawsAreFound(t *testing.T) {
	ctx := context.Background() // the deadline of the test binary bounds it
	root, err := mutant.Root(ctx)
	must.Succeed(t, err)
	var set mutant.Set
	for _, f := range flaws() {
		set = append(set, f.Flaw)
	}
	program, err := set.BuildTests(ctx, root, t.TempDir(), "./flow")
	must.Succeed(t, err)
	run := func(name string, environ []string) (string, error) {
		ctx, cancel := context.WithTimeout(ctx, 10*time.Minute) // for a flaw that makes the walk endless
		defer cancel()
		cmd := exec.CommandContext(ctx, program, "-test.run", "^TestProof$/^"+strings.ReplaceAll(name, " ", "_")+"$")
		cmd.Dir, cmd.Env = filepath.Join(root, "flow"), environ
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := run(".*", set.Sound()); err != nil {
		t.Fatalf("without a flaw: %v\n%s", err, out)
	}
	for _, f := range flaws() {
		t.Run(f.Name, func(t *testing.T) {
			environ, err := set.Environ(f.Name)
			must.Succeed(t, err)
			out, err := run(f.scenario, environ)
			var exit *exec.ExitError
			if !errors.As(err, &exit) || !slices.ContainsFunc(f.promises, func(p string) bool { return strings.Contains(out, ": "+p+":\n") }) {
				t.Errorf("%q does not find it by any of %q: %v\n%.300s", f.scenario, f.promises, err, out)
			}
		})
	}
}
