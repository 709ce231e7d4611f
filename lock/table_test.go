package lock

import (
	"testing"
	"time"
)

// A new claim gets the lock at once where a place is free and nobody waits before it.
func TestWhenATableIsFree(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		size, holders, waiters int
		free, idle             bool
	}{
		{0, 0, 0, true, true}, {1, 0, 0, true, true}, {1, 1, 0, false, false}, {2, 1, 0, true, false}, {2, 1, 1, false, false}, {2, 2, 0, false, false}, {2, 0, 1, false, false},
	} {
		table := table{Size: c.size, Holders: make([]entry, c.holders), Waiters: make([]entry, c.waiters)}
		if table.free() != c.free || table.idle() != c.idle {
			t.Errorf("%+v: free %t, idle %t", c, table.free(), table.idle())
		}
	}
	if got := (life{ttl: 3 * time.Second}).retry(); got != 100*time.Millisecond {
		t.Errorf("it tries again after %s of a TTL of 3 s", got)
	}
}
