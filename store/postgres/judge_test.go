package postgres

import (
	"testing"
	"time"
)

// On a slow machine a process gets more time to prove that it lives, and a dead one is not waited for without a bound.
func TestGraceGrowsWithARequest(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	for took, want := range map[time.Duration]time.Duration{0: 150 * ms, 10 * ms: 200 * ms, 170 * ms: time.Second, 5 * time.Second: time.Second} {
		if got := graceAfter(took); got != want {
			t.Errorf("after a request of %v: %v, want %v", took, got, want)
		}
	}
}
