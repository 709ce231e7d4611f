//go:build proof

package lease

import (
	"testing"

	"github.com/rota-run/rota/internal/proof/mutant/mutanttest"
)

func TestFlawsAreFound(t *testing.T) {
	mutanttest.AreFound(t, "protocol/lease", flaws(), "-test.timeout", "60s")
}
