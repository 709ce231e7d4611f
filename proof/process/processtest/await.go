package processtest

import (
	"testing"
	"time"
)

// Patience bounds every wait.
const Patience = 60 * time.Second

// glance is the time between two looks at a condition, which is longer where a look takes long, as one of a command does: the looks of a test that waits
// would else take a core from those that work.
const (
	glance      = 20 * time.Millisecond
	longestRest = 500 * time.Millisecond
)

// Await looks until a condition holds, and fails the test when patience ends.
func Await(t testing.TB, what string, holds func() bool) {
	t.Helper()
	limit := time.After(Patience)
	began := time.Now()
	for {
		looked := time.Now()
		if holds() {
			break
		}
		select {
		case <-time.After(min(max(glance, 3*time.Since(looked)), longestRest)):
		case <-limit:
			t.Fatalf("waited %s in vain: %s", Patience, what)
		}
	}
	t.Logf("%5d ms until %s", time.Since(began).Milliseconds(), what)
}
