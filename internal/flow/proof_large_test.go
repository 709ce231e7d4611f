//go:build proof

package flow

import (
	"testing"

	"github.com/rota-run/rota/internal/proof/check"
	"github.com/rota-run/rota/internal/proof/mutant/mutanttest"
)

// TestProofLarge is TestProof with two workers of each stage: a minute or two, and some GB of memory.
func TestProofLarge(t *testing.T) {
	two := func(messages int, f faults) model {
		return model{messages: messages, workers: 2, faults: f}
	}
	prove(t, map[string]check.Model[system]{
		"two messages":                               two(2, faults{}),
		"a worker dies":                              two(1, faults{crash: 1}),
		"two workers die":                            two(1, faults{crash: 2}),
		"a commit is late":                           two(1, faults{late: 1}),
		"an answer is lost, a lease ends":            two(1, faults{lost: 1, lapse: 1}),
		"a worker dies, a lease ends":                two(1, faults{crash: 1, lapse: 1}),
		"a zombie commits late":                      two(1, faults{lapse: 1, late: 1}),
		"a commit is done twice":                     two(1, faults{twice: 1}),
		"a consumer lags, a worker dies":             two(1, faults{lag: 1, crash: 1}),
		"the server starts again, a worker dies":     two(1, faults{boot: 1, crash: 1}),
		"the server starts again, an answer is lost": two(1, faults{boot: 1, lost: 1}),
	})
}

// TestSeedsMany is TestSeeds with more walks.
func TestSeedsMany(t *testing.T) { walks(t, 20_000) }

// TestFlawsAreFound builds the tests of this package with the flaws laid over the source, and walks for each the
// scenario that is to find it.
func TestFlawsAreFound(t *testing.T) { mutanttest.WalkedAreFound(t, "internal/flow", "^TestProof$") }
