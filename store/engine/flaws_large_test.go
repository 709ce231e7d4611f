//go:build proof

package engine

import (
	"testing"

	"github.com/rota-run/rota/internal/proof/mutant/mutanttest"
)

func TestFlawsAreFound(t *testing.T) {
	t.Parallel()
	mutanttest.AreFound(t, "store/engine", append(flaws(), flawsOfTombstones()...))
}
