//go:build proof

package kafka

import (
	"testing"

	"github.com/rota-run/rota/internal/proof/mutant/mutanttest"
)

func TestFlawsAreFound(t *testing.T) {
	mutanttest.AreFound(t, "store/kafka", flaws(), "-test.timeout", "20s")
}
