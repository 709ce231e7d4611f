//go:build proof

package call

import (
	"testing"

	"github.com/rota-run/rota/internal/proof/check"
	"github.com/rota-run/rota/internal/proof/mutant/mutanttest"
)

// TestProofSeconds walks the scenarios that take seconds each.
func TestProofSeconds(t *testing.T) {
	t.Parallel()
	prove(t, seconds())
}

// TestProofLarge is TestProof with more at once, and from the beginning: minutes, and some GB of memory.
func TestProofLarge(t *testing.T) {
	errs := ways{err: true}
	prove(t, map[string]check.Model[system]{
		"no fault, from the beginning": model{members: 2, handler: true, waiter: true, ways: errs}.prepared(),
		"two attempts": model{members: 2, attempts: 2, handler: true,
			ways: ways{err: true, permanent: true, timeout: true}, from: fromQueued}.prepared(),
		"a member dies": model{members: 2, attempts: 2, handler: true,
			faults: faults{crash: 1}, ways: errs, from: fromQueued}.prepared(),
		"a member dies, a write is late": model{members: 2, handler: true,
			faults: faults{crash: 1, late: 1}, from: fromQueued}.prepared(),
		"a member dies, an answer is lost": model{members: 2, attempts: 2,
			faults: faults{crash: 1, lost: 1}, from: fromQueued}.prepared(),
		"two of three die": model{members: 3, attempts: 3, faults: faults{crash: 2}, from: fromQueued}.prepared(),
		"lease ends": model{members: 2, attempts: 2, handler: true,
			faults: faults{lapse: 1}, ways: errs, from: fromQueued}.prepared(),
		"lease ends, and it comes back": model{members: 2, attempts: 2,
			faults: faults{lapse: 1, rejoin: 1}, from: fromQueued}.prepared(),
		"lease ends, a write is late": model{members: 2, attempts: 2,
			faults: faults{lapse: 1, late: 1}, from: fromQueued}.prepared(),
		"lease ends, an answer is lost, a call fails": model{members: 2, attempts: 2,
			faults: faults{lapse: 1, lost: 1, fail: 1}, from: fromQueued}.prepared(),
		"the lease of one of three ends": model{members: 3, faults: faults{lapse: 1}, from: fromQueued}.prepared(),
		"a write is late": model{members: 2, attempts: 2, handler: true, ways: errs,
			faults: faults{late: 1}, from: fromQueued}.prepared(),
		"two writes are late": model{members: 2, faults: faults{late: 2}, from: fromQueued}.prepared(),
		"an answer is lost": model{members: 2, attempts: 2, handler: true, ways: errs,
			faults: faults{lost: 1}, from: fromQueued}.prepared(),
		"an answer is lost, a call fails": model{members: 2, attempts: 2, ways: errs,
			faults: faults{lost: 1, fail: 1}, from: fromQueued}.prepared(),
		"a write is late, a call fails": model{members: 2, attempts: 2, ways: errs,
			faults: faults{late: 1, fail: 1}, from: fromQueued}.prepared(),
		"a wish to cancel": model{members: 2, attempts: 2, handler: true, waiter: true,
			faults: faults{cancel: 1}, ways: errs, from: fromQueued}.prepared(),
		"a wish to cancel, a write is late": model{members: 2, attempts: 2,
			faults: faults{cancel: 1, late: 1}, ways: errs, from: fromQueued}.prepared(),
		"a wish to cancel, an answer is lost, a call fails": model{members: 1, attempts: 2,
			faults: faults{cancel: 1, lost: 1, fail: 1}, ways: errs, from: fromQueued}.prepared(),
		"a wish to cancel, lease ends": model{members: 2, attempts: 2,
			faults: faults{cancel: 1, lapse: 1}, from: fromQueued}.prepared(),
		"a submission is late":     model{members: 2, faults: faults{late: 1}, waiter: true}.prepared(),
		"two submissions are late": model{members: 1, faults: faults{late: 2}, from: fromPage}.prepared(),
		"a submission is late, a member dies": model{members: 2, faults: faults{late: 1, crash: 1},
			from: fromPage}.prepared(),
		"the caller dies, a write is late": model{members: 2, faults: faults{die: 1, late: 1}, waiter: true}.prepared(),
		"the caller dies, a wish to cancel": model{members: 2, handler: true,
			faults: faults{die: 1, cancel: 1}, waiter: true, from: fromQueued}.prepared(),
		"the page is old, twice": model{members: 1, faults: faults{eras: 2}, from: fromPage, sweeps: true}.prepared(),
		"the page is old, two members": model{members: 2, faults: faults{eras: 1, lost: 1},
			from: fromPage, sweeps: true}.prepared(),
		"two calls":                  model{members: 2, calls: 2, from: fromPage}.prepared(),
		"two calls, a write is late": model{members: 1, calls: 2, faults: faults{late: 1}}.prepared(),
		"two calls, an answer is lost, a call fails": model{members: 1, calls: 2,
			faults: faults{lost: 1, fail: 1}, from: fromPage}.prepared(),
	})
}

// TestFlawsAreFound builds the tests of this package with the flaws laid over the source, and walks for each the
// scenario that is to find it.
func TestFlawsAreFound(t *testing.T) {
	t.Setenv("GOFLAGS", "-tags=proof") // what is built has the larger scenarios too
	mutanttest.WalkedAreFound(t, "call", "^TestProof(Seconds)?$")
}
