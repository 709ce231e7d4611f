package lock

import (
	"slices"
	"testing"

	"github.com/rota-run/rota/internal/proof/check"
	"github.com/rota-run/rota/internal/proof/mutant/mutanttest"
)

// TestProof walks every order of events within the bounds of each scenario. These are the small ones; the build tag
// proof adds those that take longer.
func TestProof(t *testing.T) {
	t.Parallel()
	prove(t, map[string]check.Model[system]{
		"no fault":                        model{procs: 2, size: 1},
		"a write is late":                 model{procs: 2, size: 1, faults: faults{late: 1}, held: true},
		"an answer is lost, one gives up": model{procs: 2, size: 1, faults: faults{lost: 1, cancel: 1}, held: true},
	})
}

func prove(t *testing.T, all map[string]check.Model[system]) {
	t.Helper()
	mutanttest.Prove(t, 8_000_000, all)
}

// flawed is a flaw, the faults under which it shows, and the promises by which the checker may find it.
type flawed struct {
	flaw     flaw
	faults   faults
	expires  bool
	held     bool
	promises []string
}

// TestFlaws does something wrongly on purpose, and wants the checker to find it: what it can't find, TestProof does not
// prove. The build tag proof adds the flaws that are found in seconds.
func TestFlaws(t *testing.T) {
	t.Parallel()
	findFlaws(t, []flawed{
		{flawImpatient, faults{suspend: 1}, false, true, []string{promiseOne}},
		{flawLooked, faults{suspend: 1}, false, true, []string{promiseOne}},
		{flawBlind, faults{late: 1, cancel: 1}, false, false, []string{promiseClean}},
		{flawHopeful, faults{late: 1}, false, false, []string{promiseClean}},
		{flawNoVersion, faults{}, false, false, []string{promiseOne, promiseTokens}},
		{flawEarly, faults{suspend: 1}, true, true, []string{promiseOne}},
		{flawSameToken, faults{}, false, true, []string{promiseTokens}},
		{flawReleaseLate, faults{late: 1}, false, true, []string{promiseClean}},
	})
}

func findFlaws(t *testing.T, all []flawed) {
	t.Helper()
	for _, c := range all {
		t.Run(string(c.flaw), func(t *testing.T) {
			m := model{procs: 2, size: 1, faults: c.faults, expires: c.expires, flaw: c.flaw,
				only: c.flaw == flawRevive, slow: c.flaw == flawLooked, held: c.held}
			r := check.Explore(m, check.Options{States: 3_000_000, Violations: 1})
			t.Logf("%d states", r.States)
			if len(r.Violations) == 0 {
				t.Fatal("the checker does not find it")
			}
			v := r.Violations[0]
			t.Logf("%s, in %d moves: %q", v.Promise, len(v.Trace), v.Trace)
			if !slices.Contains(c.promises, v.Promise) {
				t.Errorf("it breaks %q, want one of %q", v.Promise, c.promises)
			}
		})
	}
}
