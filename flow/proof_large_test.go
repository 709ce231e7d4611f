//go:build proof

package flow

import (
	"testing"

	"github.com/rota-run/rota/internal/proof/check"
	"github.com/rota-run/rota/internal/proof/mutant/mutanttest"
)

// TestProofLarge is TestProof with two workers of each stage: a minute or two, and some GB of memory.
func TestProofLarge(t *testing.T) {
	two := func(messages int, split bool, f faults) model {
		return model{messages: messages, workers: 2, split: split, faults: f}
	}
	prove(t, map[string]check.Model[system]{
		"two messages":                               two(2, false, faults{}),
		"two messages, no transactions":              two(2, true, faults{}),
		"a worker dies":                              two(1, false, faults{crash: 1}),
		"a worker dies, no transactions":             two(1, true, faults{crash: 1}),
		"two workers die":                            two(1, false, faults{crash: 2}),
		"a commit is late":                           two(1, false, faults{late: 1}),
		"a write is late":                            two(1, true, faults{late: 1}),
		"an answer is lost, a lease ends":            two(1, true, faults{lost: 1, lapse: 1}),
		"a worker dies, a lease ends":                two(1, true, faults{crash: 1, lapse: 1}),
		"a zombie commits late":                      two(1, false, faults{lapse: 1, late: 1}),
		"a zombie writes late":                       two(1, true, faults{lapse: 1, late: 1}),
		"a commit is done twice":                     two(1, false, faults{twice: 1}),
		"a write is done twice":                      two(1, true, faults{twice: 1}),
		"a consumer lags, a worker dies":             two(1, false, faults{lag: 1, crash: 1}),
		"the server starts again, a worker dies":     two(1, false, faults{boot: 1, crash: 1}),
		"the server starts again, an answer is lost": two(1, true, faults{boot: 1, lost: 1}),
		"halves, a lease ends":                       model{messages: 1, workers: 2, split: true, halves: true, faults: faults{lapse: 1}},
		"halves, a worker dies, a write is late":     model{messages: 1, workers: 1, split: true, halves: true, faults: faults{crash: 1, late: 1}},
	})
}

// TestSeedsMany is TestSeeds with more walks.
func TestSeedsMany(t *testing.T) { walks(t, 20_000) }

// TestFlawsAreFound builds the tests of this package with the flaws laid over the source, and walks for each the scenario that is to find it.
func TestFlawsAreFound(t *testing.T) { mutanttest.WalkedAreFound(t, "flow", "^TestProof$") }
