package call

import (
	"os"
	"strings"
	"testing"

	"github.com/rota-run/rota/sim/check"
)

// proofVariable makes the tests walk the large scenarios, and look for the flaws, too: minutes, and some GB of memory.
const proofVariable = "ROTA_CALL_PROOF"

type scenario struct {
	name string
	m    model
}

// patient are the scenarios that are too large for the race detector, which finds nothing in what is pure.
func patient(name string) bool { return name == "the page is old, a write is late" }

// scenarios are small enough to be walked with every change.
func scenarios() []scenario {
	errs := ways{err: true}
	return []scenario{
		{"no fault", model{members: 2, handler: true, waiter: true}},
		{"two attempts", model{members: 1, attempts: 2, handler: true, ways: ways{err: true, permanent: true, timeout: true}, from: fromQueued}},
		{"a member dies", model{members: 2, handler: true, faults: faults{crash: 1}, from: fromQueued}},
		{"trust ends", model{members: 2, attempts: 2, faults: faults{lapse: 1}, from: fromQueued}},
		{"trust ends, and it comes back", model{members: 2, faults: faults{lapse: 1, rejoin: 1}, from: fromQueued}},
		{"a write is late", model{members: 1, handler: true, ways: errs, faults: faults{late: 1}, from: fromQueued}},
		{"an answer is lost", model{members: 1, handler: true, ways: errs, faults: faults{lost: 1}, from: fromQueued}},
		{"an answer is lost, a call fails", model{members: 1, faults: faults{lost: 1, fail: 1}, from: fromQueued}},
		{"a write is late, a call fails", model{members: 1, faults: faults{late: 1, fail: 1}, from: fromQueued}},
		{"a wish to cancel", model{members: 1, handler: true, faults: faults{cancel: 1}, ways: errs, from: fromQueued}},
		{"a wish to cancel, a write is late", model{members: 1, faults: faults{cancel: 1, late: 1}, from: fromQueued}},
		{"a wish to cancel, a member dies", model{members: 2, attempts: 2, faults: faults{cancel: 1, crash: 1}, from: fromQueued}},
		{"a submission is late", model{members: 1, faults: faults{late: 1}}},
		{"a submission is late, a call fails", model{members: 1, faults: faults{late: 1, fail: 1}}},
		{"a submission is lost, a call fails", model{members: 1, faults: faults{lost: 1, fail: 1}}},
		{"the caller dies", model{members: 1, faults: faults{die: 1}, waiter: true}},
		{"the page is old", model{members: 1, faults: faults{eras: 1}, from: fromPage, sweeps: true}},
		{"the page is old, a write is late", model{members: 1, faults: faults{eras: 1, late: 1}, from: fromPage, sweeps: true}},
		{"the page is old, an answer is lost", model{members: 1, faults: faults{eras: 1, lost: 1}, from: fromPage, sweeps: true}},
		{"two calls", model{members: 1, calls: 2, from: fromPage}},
	}
}

// TestProof walks every order of events within the bounds of each scenario.
func TestProof(t *testing.T) {
	t.Parallel()
	prove(t, scenarios())
}

// TestProofLarge is the same with more at once, and from the beginning.
func TestProofLarge(t *testing.T) {
	if os.Getenv(proofVariable) == "" {
		t.Skipf("NOT WALKED: set %s=1 for the large scenarios", proofVariable)
	}
	errs := ways{err: true}
	prove(t, []scenario{
		{"no fault, from the beginning", model{members: 2, handler: true, waiter: true, ways: errs}},
		{"two attempts", model{members: 2, attempts: 2, handler: true, ways: ways{err: true, permanent: true, timeout: true}, from: fromQueued}},
		{"a member dies", model{members: 2, attempts: 2, handler: true, faults: faults{crash: 1}, ways: errs, from: fromQueued}},
		{"a member dies, a write is late", model{members: 2, handler: true, faults: faults{crash: 1, late: 1}, from: fromQueued}},
		{"a member dies, an answer is lost", model{members: 2, attempts: 2, faults: faults{crash: 1, lost: 1}, from: fromQueued}},
		{"two of three die", model{members: 3, attempts: 3, faults: faults{crash: 2}, from: fromQueued}},
		{"trust ends", model{members: 2, attempts: 2, handler: true, faults: faults{lapse: 1}, ways: errs, from: fromQueued}},
		{"trust ends, and it comes back", model{members: 2, attempts: 2, faults: faults{lapse: 1, rejoin: 1}, from: fromQueued}},
		{"trust ends, a write is late", model{members: 2, attempts: 2, faults: faults{lapse: 1, late: 1}, from: fromQueued}},
		{"trust ends, an answer is lost, a call fails", model{members: 2, attempts: 2, faults: faults{lapse: 1, lost: 1, fail: 1}, from: fromQueued}},
		{"the trust of one of three ends", model{members: 3, faults: faults{lapse: 1}, from: fromQueued}},
		{"a write is late", model{members: 2, attempts: 2, handler: true, ways: errs, faults: faults{late: 1}, from: fromQueued}},
		{"two writes are late", model{members: 2, faults: faults{late: 2}, from: fromQueued}},
		{"an answer is lost", model{members: 2, attempts: 2, handler: true, ways: errs, faults: faults{lost: 1}, from: fromQueued}},
		{"an answer is lost, a call fails", model{members: 2, attempts: 2, ways: errs, faults: faults{lost: 1, fail: 1}, from: fromQueued}},
		{"a write is late, a call fails", model{members: 2, attempts: 2, ways: errs, faults: faults{late: 1, fail: 1}, from: fromQueued}},
		{"a wish to cancel", model{members: 2, attempts: 2, handler: true, waiter: true, faults: faults{cancel: 1}, ways: errs, from: fromQueued}},
		{"a wish to cancel, a write is late", model{members: 2, attempts: 2, faults: faults{cancel: 1, late: 1}, ways: errs, from: fromQueued}},
		{"a wish to cancel, an answer is lost, a call fails", model{members: 1, attempts: 2, faults: faults{cancel: 1, lost: 1, fail: 1}, ways: errs, from: fromQueued}},
		{"a wish to cancel, trust ends", model{members: 2, attempts: 2, faults: faults{cancel: 1, lapse: 1}, from: fromQueued}},
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

func prove(t *testing.T, all []scenario) {
	t.Helper()
	for _, c := range all {
		t.Run(c.name, func(t *testing.T) {
			if underRace && patient(c.name) {
				t.Skip("NOT WALKED under the race detector, which is too slow for it and finds nothing in it")
			}
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
