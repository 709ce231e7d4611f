//go:build proof

package call

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

// TestProofSeconds walks the scenarios that take seconds each.
func TestProofSeconds(t *testing.T) {
	t.Parallel()
	prove(t, seconds())
}

// TestProofLarge is TestProof with more at once, and from the beginning: minutes, and some GB of memory.
func TestProofLarge(t *testing.T) {
	errs := ways{err: true}
	prove(t, []scenario{
		{"no fault, from the beginning", model{members: 2, handler: true, waiter: true, ways: errs}},
		{"two attempts", model{members: 2, attempts: 2, handler: true, ways: ways{err: true, permanent: true, timeout: true}, from: fromQueued}},
		{"a member dies", model{members: 2, attempts: 2, handler: true, faults: faults{crash: 1}, ways: errs, from: fromQueued}},
		{"a member dies, a write is late", model{members: 2, handler: true, faults: faults{crash: 1, late: 1}, from: fromQueued}},
		{"a member dies, an answer is lost", model{members: 2, attempts: 2, faults: faults{crash: 1, lost: 1}, from: fromQueued}},
		{"two of three die", model{members: 3, attempts: 3, faults: faults{crash: 2}, from: fromQueued}},
		{"lease ends", model{members: 2, attempts: 2, handler: true, faults: faults{lapse: 1}, ways: errs, from: fromQueued}},
		{"lease ends, and it comes back", model{members: 2, attempts: 2, faults: faults{lapse: 1, rejoin: 1}, from: fromQueued}},
		{"lease ends, a write is late", model{members: 2, attempts: 2, faults: faults{lapse: 1, late: 1}, from: fromQueued}},
		{"lease ends, an answer is lost, a call fails", model{members: 2, attempts: 2, faults: faults{lapse: 1, lost: 1, fail: 1}, from: fromQueued}},
		{"the lease of one of three ends", model{members: 3, faults: faults{lapse: 1}, from: fromQueued}},
		{"a write is late", model{members: 2, attempts: 2, handler: true, ways: errs, faults: faults{late: 1}, from: fromQueued}},
		{"two writes are late", model{members: 2, faults: faults{late: 2}, from: fromQueued}},
		{"an answer is lost", model{members: 2, attempts: 2, handler: true, ways: errs, faults: faults{lost: 1}, from: fromQueued}},
		{"an answer is lost, a call fails", model{members: 2, attempts: 2, ways: errs, faults: faults{lost: 1, fail: 1}, from: fromQueued}},
		{"a write is late, a call fails", model{members: 2, attempts: 2, ways: errs, faults: faults{late: 1, fail: 1}, from: fromQueued}},
		{"a wish to cancel", model{members: 2, attempts: 2, handler: true, waiter: true, faults: faults{cancel: 1}, ways: errs, from: fromQueued}},
		{"a wish to cancel, a write is late", model{members: 2, attempts: 2, faults: faults{cancel: 1, late: 1}, ways: errs, from: fromQueued}},
		{"a wish to cancel, an answer is lost, a call fails", model{members: 1, attempts: 2, faults: faults{cancel: 1, lost: 1, fail: 1}, ways: errs, from: fromQueued}},
		{"a wish to cancel, lease ends", model{members: 2, attempts: 2, faults: faults{cancel: 1, lapse: 1}, from: fromQueued}},
		{"a submission is late", model{members: 2, faults: faults{late: 1}, waiter: true}},
		{"two submissions are late", model{members: 1, faults: faults{late: 2}, from: fromPage}},
		{"a submission is late, a member dies", model{members: 2, faults: faults{late: 1, crash: 1}, from: fromPage}},
		{"the caller dies, a write is late", model{members: 2, faults: faults{die: 1, late: 1}, waiter: true}},
		{"the caller dies, a wish to cancel", model{members: 2, handler: true, faults: faults{die: 1, cancel: 1}, waiter: true, from: fromQueued}},
		{"the page is old, twice", model{members: 1, faults: faults{eras: 2}, from: fromPage, sweeps: true}},
		{"the page is old, two members", model{members: 2, faults: faults{eras: 1, lost: 1}, from: fromPage, sweeps: true}},
		{"two calls", model{members: 2, calls: 2, from: fromPage}},
		{"two calls, a write is late", model{members: 1, calls: 2, faults: faults{late: 1}}},
		{"two calls, an answer is lost, a call fails", model{members: 1, calls: 2, faults: faults{lost: 1, fail: 1}, from: fromPage}},
	})
}

// TestFlawsAreFound builds the tests of this package with each flaw laid over the source, and walks the scenario that is to find it.
func TestFlawsAreFound(t *testing.T) {
	t.Setenv("GOFLAGS", "-tags=proof") // what is built has the larger scenarios too
	root, err := mutant.Root(context.Background())
	must.Succeed(t, err)
	for _, f := range flaws() {
		t.Run(f.Name, func(t *testing.T) {
			program, err := f.BuildTests(within(t, 5*time.Minute), root, t.TempDir(), "./call")
			must.Succeed(t, err)
			pattern := "^TestProof(Seconds)?$/^" + strings.ReplaceAll(f.scenario, " ", "_") + "$"
			cmd := exec.CommandContext(within(t, 5*time.Minute), program, "-test.run", pattern)
			cmd.Dir = filepath.Join(root, "call")
			out, err := cmd.CombinedOutput()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || !slices.ContainsFunc(f.promises, func(p string) bool { return strings.Contains(string(out), ": "+p+":\n") }) {
				t.Errorf("%q does not find it by any of %q: %v", f.scenario, f.promises, err)
			}
			t.Logf("%.3000s", out)
		})
	}
}

func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}
