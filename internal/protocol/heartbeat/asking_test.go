package heartbeat_test

import (
	"testing"
	"time"

	"github.com/rota-run/rota/internal/protocol/heartbeat"
)

// TestWaited: only a renewal that is under way waits.
func TestWaited(t *testing.T) {
	t.Parallel()
	if got := (heartbeat.Asking{Busy: true, Asked: at(ttl)}).Waited(at(3 * ttl)); got != 2*ttl {
		t.Errorf("one is under way: %s, want %s", got, 2*ttl)
	}
	if got := (heartbeat.Asking{}).Waited(at(3 * ttl)); got != 0 {
		t.Errorf("none is under way: %s, want 0", got)
	}
}

// TestLengthened: the usual TTL is not told.
func TestLengthened(t *testing.T) {
	t.Parallel()
	usual := heartbeat.Timing{TTL: 10 * time.Second}
	for ttl, want := range map[time.Duration]int64{10 * time.Second: 0, 20 * time.Second: 20_000} {
		if got := usual.Lengthened(ttl); got != want {
			t.Errorf("%s: %d ms, want %d", ttl, got, want)
		}
	}
}
