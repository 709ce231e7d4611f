package fold

import (
	"testing"

	"github.com/rota-run/rota/internal/proof/mutant/mutanttest"
)

func TestFlawsFit(t *testing.T) { t.Parallel(); mutanttest.Fit(t) }

func TestFlawsAreFound(t *testing.T) {
	mutanttest.AreFound(t, "store/internal/fold", "-test.timeout", "20s")
}
