package call

import (
	"os"
	"strings"
	"testing"

	"github.com/rota-run/rota/sim/check"
)

// proofVariable makes the tests walk the large scenarios too: minutes, and some GB of memory.
const proofVariable = "ROTA_CALL_PROOF"

type scenario struct {
	name string
	m    model
}

// TestProof walks every order of events within the bounds of each scenario.
func TestProof(t *testing.T) {
	t.Parallel()
	prove(t, []scenario{
		{"no fault", model{members: 2, handler: true, ways: ways{err: true}}},
		{"two attempts", model{members: 2, attempts: 2, handler: true, ways: ways{err: true, permanent: true, timeout: true}, from: fromQueued}},
		{"a member dies", model{members: 2, attempts: 2, handler: true, faults: faults{crash: 1}, ways: ways{err: true}, from: fromQueued}},
		{"trust ends", model{members: 2, attempts: 2, faults: faults{lapse: 1}, ways: ways{err: true}, from: fromQueued}},
		{"trust ends, and it comes back", model{members: 2, attempts: 1, faults: faults{lapse: 1, rejoin: 1}, from: fromQueued}},
		{"a write is late", model{members: 2, attempts: 2, handler: true, ways: ways{err: true}, faults: faults{late: 1}, from: fromQueued}},
		{"an answer is lost", model{members: 2, attempts: 2, handler: true, ways: ways{err: true}, faults: faults{lost: 1}, from: fromQueued}},
		{"an answer is lost, a call fails", model{members: 2, faults: faults{lost: 1, fail: 1}, from: fromQueued}},
		{"a write is late, a call fails", model{members: 2, faults: faults{late: 1, fail: 1}, from: fromQueued}},
		{"a wish to cancel", model{members: 2, attempts: 2, handler: true, faults: faults{cancel: 1}, ways: ways{err: true}, from: fromQueued}},
		{"a wish to cancel, a write is late", model{members: 2, faults: faults{cancel: 1, late: 1}, from: fromQueued}},
		{"a wish to cancel, a member dies", model{members: 2, attempts: 2, faults: faults{cancel: 1, crash: 1}, from: fromQueued}},
		{"submission, late", model{members: 1, faults: faults{late: 1}}},
		{"submission, late and fails", model{members: 1, faults: faults{late: 1, fail: 1}}},
		{"submission, lost and fails", model{members: 1, faults: faults{lost: 1, fail: 1}}},
		{"the caller dies", model{members: 1, faults: faults{die: 1}, waiter: true}},
		{"the page is old", model{members: 1, faults: faults{eras: 1}, from: fromPage, sweeps: true}},
		{"the page is old, a write is late", model{members: 1, faults: faults{eras: 1, late: 1}, from: fromPage, sweeps: true}},
		{"the page is old, an answer is lost", model{members: 1, faults: faults{eras: 1, lost: 1}, from: fromPage, sweeps: true}},
		{"two calls", model{members: 1, calls: 2, faults: faults{late: 1}}},
	})
}

// TestProofLarge is the same with more at once.
func TestProofLarge(t *testing.T) {
	if os.Getenv(proofVariable) == "" {
		t.Skipf("NOT WALKED: set %s=1 for the large scenarios", proofVariable)
	}
	prove(t, []scenario{})
}

func prove(t *testing.T, all []scenario) {
	t.Helper()
	for _, c := range all {
		t.Run(c.name, func(t *testing.T) {
			r := check.Explore(c.m.prepared(), check.Options{States: 8_000_000, Violations: 1})
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
