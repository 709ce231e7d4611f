package zookeeper

import (
	"testing"
	"time"
)

// TestHostsInTurn makes attempts that all fail: each server in turn, with growing pauses between rounds, then with the
// pauses of the library.
func TestHostsInTurn(t *testing.T) {
	t.Parallel()
	h := &hosts{}
	if err := h.Init([]string{"a", "b", "c"}); err != nil || h.Len() != 3 {
		t.Fatal(err, h.Len())
	}
	for range 2 { // the same once more after a success
		last := ""
		for round, pause := range []int{0, 20, 40, 80, 160, 320, 0, 0} {
			seen := map[string]bool{}
			for i := range 3 {
				server, start := h.Next()
				if server == last || seen[server] {
					t.Fatalf("round %d: %s again after %s", round, server, last)
				}
				seen[server], last = true, server
				if want := i == 0 && round >= 6; start != want {
					t.Errorf("round %d, attempt %d: the library pauses and refuses what waits: %v, want %v", round, i,
						start, want)
				}
				want := time.Duration(pause) * time.Millisecond
				if i > 0 {
					want = 0
				}
				if got := h.pause(); got != want {
					t.Errorf("round %d, attempt %d: pause %v, want %v", round, i, got, want)
				}
			}
		}
		h.Connected()
	}
}
