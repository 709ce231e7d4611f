package call

import (
	"strings"
	"testing"

	"github.com/rota-run/rota/internal/proof/check"
)

type scenario struct {
	name string
	m    model
}

// scenarios are small enough to be walked with every change. The build tag proof adds larger ones.
func scenarios() []scenario {
	errs := ways{err: true}
	return []scenario{
		{"no fault", model{members: 2, handler: true, waiter: true}},
		{"two attempts", model{members: 1, attempts: 2, handler: true, ways: ways{err: true, permanent: true, timeout: true}, from: fromQueued}},
		{"a member dies", model{members: 2, handler: true, faults: faults{crash: 1}, from: fromQueued}},
		{"lease ends", model{members: 2, attempts: 2, faults: faults{lapse: 1}, from: fromQueued}},
		{"a write is late", model{members: 1, handler: true, ways: errs, faults: faults{late: 1}, from: fromQueued}},
		{"an answer is lost", model{members: 1, handler: true, ways: errs, faults: faults{lost: 1}, from: fromQueued}},
		{"an answer is lost, a call fails", model{members: 1, faults: faults{lost: 1, fail: 1}, from: fromQueued}},
		{"a write is late, a call fails", model{members: 1, faults: faults{late: 1, fail: 1}, from: fromQueued}},
		{"a wish to cancel", model{members: 1, handler: true, faults: faults{cancel: 1}, ways: errs, from: fromQueued}},
		{"a wish to cancel, a write is late", model{members: 1, faults: faults{cancel: 1, late: 1}, from: fromQueued}},
		{"a submission is late", model{members: 1, faults: faults{late: 1}}},
		{"a submission is late, a call fails", model{members: 1, faults: faults{late: 1, fail: 1}}},
		{"a submission is lost, a call fails", model{members: 1, faults: faults{lost: 1, fail: 1}}},
		{"the caller dies", model{members: 1, faults: faults{die: 1}, waiter: true}},
		{"the page is old", model{members: 1, faults: faults{eras: 1}, from: fromPage, sweeps: true}},
		{"the page is old, an answer is lost", model{members: 1, faults: faults{eras: 1, lost: 1}, from: fromPage, sweeps: true}},
		{"two calls", model{members: 1, calls: 2, from: fromPage}},
	}
}

// seconds are scenarios that take seconds each: they are walked with the build tag proof.
func seconds() []scenario {
	return []scenario{
		{"lease ends, and it comes back", model{members: 2, faults: faults{lapse: 1, rejoin: 1}, from: fromQueued}},
		{"a wish to cancel, a member dies", model{members: 2, attempts: 2, faults: faults{cancel: 1, crash: 1}, from: fromQueued}},
		{"the page is old, a write is late", model{members: 1, faults: faults{eras: 1, late: 1}, from: fromPage, sweeps: true}},
	}
}

// TestProof walks every order of events within the bounds of each scenario.
func TestProof(t *testing.T) {
	t.Parallel()
	prove(t, scenarios())
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
