package flow

import (
	"testing"

	"github.com/rota-run/rota/internal/proof/check"
	"github.com/rota-run/rota/internal/proof/mutant/mutanttest"
)

// scenarios are small enough to be walked with every change. The build tag proof adds larger ones.
func scenarios() map[string]check.Model[system] {
	one := func(f faults) model { return model{messages: 1, workers: 1, faults: f} }
	return map[string]check.Model[system]{
		"no fault":                        model{messages: 2, workers: 1},
		"no messages":                     model{workers: 2, faults: faults{crash: 1}},
		"a worker dies":                   one(faults{crash: 1}),
		"an answer is lost":               one(faults{lost: 1}),
		"two answers are lost":            one(faults{lost: 2}),
		"a call fails, an answer is lost": one(faults{fail: 1, lost: 1}),
		"a call is late":                  one(faults{late: 1}),
		"a call is done twice":            one(faults{twice: 1}),
		"a consumer lags":                 one(faults{lag: 1, crash: 1}),
		"the server starts again":         one(faults{boot: 1, crash: 1}),
		"two workers, a lease ends":       model{messages: 1, workers: 2, faults: faults{lapse: 1}},
	}
}

// TestProof walks every order of events within the bounds of each scenario.
func TestProof(t *testing.T) {
	t.Parallel()
	prove(t, scenarios())
}

func prove(t *testing.T, all map[string]check.Model[system]) {
	t.Helper()
	mutanttest.Prove(t, 12_000_000, all)
}

// TestFlawsFit looks whether each flaw of testdata/flaws.txt can still be laid over the source, and names a scenario.
// The build tag proof builds and finds them.
func TestFlawsFit(t *testing.T) {
	t.Parallel()
	mutanttest.WalkedFit(t, scenarios())
}
