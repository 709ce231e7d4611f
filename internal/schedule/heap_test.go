package schedule

import (
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

// TestLoadsOfAnySize: loads and weights may be as large as they like.
func TestLoadsOfAnySize(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		load, weight := rapid.Int64Min(0), rapid.Int64Min(1)
		a, b, c, d := load.Draw(rt, "a"), weight.Draw(rt, "b"), load.Draw(rt, "c"), weight.Draw(rt, "d")
		if got, want := compare(a, b, c, d), big.NewRat(a, b).Cmp(big.NewRat(c, d)); got != want {
			rt.Fatalf("%d/%d against %d/%d: %d, want %d", a, b, c, d, got, want)
		}
	})
}
