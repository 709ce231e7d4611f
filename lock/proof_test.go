package lock

import (
	"os"
	"strings"
	"testing"

	"github.com/rota-run/rota/sim/check"
)

// proofVariable makes the tests walk the large scenarios too: minutes, and some GB of memory.
const proofVariable = "ROTA_LOCK_PROOF"

type scenario struct {
	name string
	m    model
}

// TestProof walks every order of events within the bounds of each scenario.
func TestProof(t *testing.T) {
	t.Parallel()
	prove(t, []scenario{
		{"no fault", model{procs: 2, size: 1}},
		{"one dies", model{procs: 2, size: 1, faults: faults{crash: 1}}},
		{"one dies, with its session", model{procs: 2, size: 1, faults: faults{crash: 1}, expires: true}},
		{"one dies, and the one behind it is slow to see it", model{procs: 2, size: 1, faults: faults{crash: 1}, held: true, slow: true}},
		{"one is suspended", model{procs: 2, size: 1, faults: faults{suspend: 1}, held: true}},
		{"one is suspended, and its session expires", model{procs: 2, size: 1, faults: faults{suspend: 1}, expires: true, held: true}},
		{"a write is late", model{procs: 2, size: 1, faults: faults{late: 1}, held: true}},
		{"an answer is lost, one gives up", model{procs: 2, size: 1, faults: faults{lost: 1, cancel: 1}, held: true}},
		{"a write is late, one gives up", model{procs: 2, size: 1, faults: faults{late: 1, cancel: 1}, held: true}},
	})
}

// TestProofLarge is the same with more faults at once, or from the very beginning.
func TestProofLarge(t *testing.T) {
	if os.Getenv(proofVariable) == "" {
		t.Skipf("NOT WALKED: set %s=1 for the large scenarios", proofVariable)
	}
	prove(t, []scenario{
		{"one is suspended", model{procs: 2, size: 1, faults: faults{suspend: 1}}},
		{"one is suspended, and its session expires", model{procs: 2, size: 1, faults: faults{suspend: 1}, expires: true}},
		{"one is suspended, different TTLs", model{procs: 2, size: 1, faults: faults{suspend: 1}, slow: true, held: true}},
		{"a write is late", model{procs: 2, size: 1, faults: faults{late: 1}}},
		{"a write is late, one gives up", model{procs: 2, size: 1, faults: faults{late: 1, cancel: 1}}},
		{"an answer is lost, one gives up", model{procs: 2, size: 1, faults: faults{lost: 1, cancel: 1}}},
		{"one dies, a write is late", model{procs: 2, size: 1, faults: faults{crash: 1, late: 1}, held: true}},
		{"one dies, one is suspended", model{procs: 2, size: 1, faults: faults{crash: 1, suspend: 1}, held: true}},
		{"one is suspended twice", model{procs: 2, size: 1, faults: faults{suspend: 2}, held: true}},
		{"one is suspended, a write is late", model{procs: 2, size: 1, faults: faults{suspend: 1, late: 1}, held: true}},
		{"three", model{procs: 3, size: 1, held: true}},
		{"three, one dies", model{procs: 3, size: 1, faults: faults{crash: 1}, held: true}},
		{"three on two places", model{procs: 3, size: 2}},
	})
}

func prove(t *testing.T, all []scenario) {
	t.Helper()
	for _, c := range all {
		t.Run(c.name, func(t *testing.T) {
			r := check.Explore(c.m, check.Options{States: 8_000_000, Violations: 1})
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
