package protocol_test

import (
	"testing"

	"github.com/rota-run/rota/protocol"
)

func TestNowGoesOn(t *testing.T) {
	t.Parallel()
	a := protocol.Now()
	for range 1_000_000 {
		if b := protocol.Now(); b > a {
			return
		} else if b < a {
			t.Fatalf("the clock went from %d back to %d", a, b)
		}
	}
	t.Fatal("the clock stands still")
}
