package memory

import (
	"testing"

	"github.com/rota-run/rota/internal/proof/mutant/mutanttest"
)

func TestFlawsFit(t *testing.T) { t.Parallel(); mutanttest.Fit(t) }

func TestFlawsAreFound(t *testing.T) {
	mutanttest.AreFound(t, "store/memory", "-test.timeout", "20s", "-rapid.nofailfile", "-rapid.shrinktime", "1s",
		"-rapid.seed", "1", "-rapid.checks", "2000")
}
