package call

import (
	"maps"
	"testing"

	"github.com/rota-run/rota/internal/proof/check"
	"github.com/rota-run/rota/internal/proof/mutant/mutanttest"
)

// scenarios are small enough to be walked with every change. The build tag proof adds larger ones.
func scenarios() map[string]check.Model[system] {
	errs := ways{err: true}
	return map[string]check.Model[system]{
		"no fault": model{members: 2, handler: true, waiter: true}.prepared(),
		"two attempts": model{members: 1, attempts: 2, handler: true,
			ways: ways{err: true, permanent: true, timeout: true}, from: fromQueued}.prepared(),
		"a member dies": model{members: 2, handler: true, faults: faults{crash: 1}, from: fromQueued}.prepared(),
		"lease ends":    model{members: 2, attempts: 2, faults: faults{lapse: 1}, from: fromQueued}.prepared(),
		"a write is late": model{members: 1, handler: true, ways: errs, faults: faults{late: 1},
			from: fromQueued}.prepared(),
		"an answer is lost": model{members: 1, handler: true, ways: errs, faults: faults{lost: 1},
			from: fromQueued}.prepared(),
		"an answer is lost, a call fails": model{members: 1, faults: faults{lost: 1, fail: 1},
			from: fromQueued}.prepared(),
		"a write is late, a call fails": model{members: 1, faults: faults{late: 1, fail: 1},
			from: fromQueued}.prepared(),
		"a wish to cancel": model{members: 1, handler: true, faults: faults{cancel: 1}, ways: errs,
			from: fromQueued}.prepared(),
		"a wish to cancel, a write is late": model{members: 1, faults: faults{cancel: 1, late: 1},
			from: fromQueued}.prepared(),
		"a submission is late":               model{members: 1, faults: faults{late: 1}}.prepared(),
		"a submission is late, a call fails": model{members: 1, faults: faults{late: 1, fail: 1}}.prepared(),
		"a submission is lost, a call fails": model{members: 1, faults: faults{lost: 1, fail: 1}}.prepared(),
		"the caller dies":                    model{members: 1, faults: faults{die: 1}, waiter: true}.prepared(),
		"the page is old":                    model{members: 1, faults: faults{eras: 1}, from: fromPage, sweeps: true}.prepared(),
		"the page is old, an answer is lost": model{members: 1, faults: faults{eras: 1, lost: 1}, from: fromPage,
			sweeps: true}.prepared(),
		"two calls": model{members: 1, calls: 2, from: fromPage}.prepared(),
	}
}

// seconds are scenarios that take seconds each: they are walked with the build tag proof.
func seconds() map[string]check.Model[system] {
	return map[string]check.Model[system]{
		"lease ends, and it comes back": model{members: 2, faults: faults{lapse: 1, rejoin: 1},
			from: fromQueued}.prepared(),
		"a wish to cancel, a member dies": model{members: 2, attempts: 2, faults: faults{cancel: 1, crash: 1},
			from: fromQueued}.prepared(),
		"the page is old, a write is late": model{members: 1, faults: faults{eras: 1, late: 1}, from: fromPage,
			sweeps: true}.prepared(),
	}
}

// TestProof walks every order of events within the bounds of each scenario.
func TestProof(t *testing.T) {
	t.Parallel()
	prove(t, scenarios())
}

func prove(t *testing.T, all map[string]check.Model[system]) {
	t.Helper()
	mutanttest.Prove(t, 8_000_000, all)
}

// TestFlawsFit looks whether each flaw of testdata/flaws.txt can still be laid over the source, and names a scenario.
// The build tag proof builds and finds them.
func TestFlawsFit(t *testing.T) {
	t.Parallel()
	all := scenarios()
	maps.Copy(all, seconds())
	mutanttest.WalkedFit(t, all)
}
