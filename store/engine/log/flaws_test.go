package log

import (
	"testing"

	"github.com/rota-run/rota/internal/proof/mutant/mutanttest"
)

func TestFlawsFit(t *testing.T) { t.Parallel(); mutanttest.Fit(t) }

func TestFlawsAreFound(t *testing.T) {
	t.Parallel()
	mutanttest.AreFound(t, "store/engine/log")
}
