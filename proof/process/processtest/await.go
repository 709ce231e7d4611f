package processtest

import (
	"testing"
	"time"
)

// Patience bounds every wait.
const Patience = 60 * time.Second

// glance is the time between two looks at a condition.
const glance = 20 * time.Millisecond

// Await looks until a condition holds, and fails the test when patience ends.
func Await(t testing.TB, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(glance)
	defer tick.Stop()
	limit := time.After(Patience)
	began := time.Now()
	for !holds() {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("waited %s in vain: %s", Patience, what)
		}
	}
	t.Logf("%5d ms until %s", time.Since(began).Milliseconds(), what)
}
