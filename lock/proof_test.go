package lock

import (
	"strings"
	"testing"

	"github.com/rota-run/rota/internal/proof/check"
)

type scenario struct {
	name string
	m    model
}

// TestProof walks every order of events within the bounds of each scenario. These are the small ones; the build tag proof adds those that take longer.
func TestProof(t *testing.T) {
	t.Parallel()
	prove(t, []scenario{
		{"no fault", model{procs: 2, size: 1}},
		{"a write is late", model{procs: 2, size: 1, faults: faults{late: 1}, held: true}},
		{"an answer is lost, one gives up", model{procs: 2, size: 1, faults: faults{lost: 1, cancel: 1}, held: true}},
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
