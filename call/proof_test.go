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
