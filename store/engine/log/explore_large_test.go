//go:build proof

package log

import (
	"testing"

	"github.com/rota-run/rota/store/engine/internal/adversary"
)

// seconds are scenarios that take seconds each.
func seconds() []scenario {
	two := script(appends("x1", "x2"))
	saved := script(then(appends("x1", "x2"), saves(2)))
	return []scenario{
		{"two appenders, a trimmer and a reader",
			adversary.Model{Scripts: callers(appends("a1"), appends("b1"), trims(2), pageAt(1)), Before: saved}, false},
		{"two trimmers and a reader",
			adversary.Model{Scripts: callers(then(saves(1), trims(1)), then(saves(2), trims(2)), reads), Before: two},
			false},
		{"two trimmers, one fault",
			adversary.Model{Scripts: callers(then(saves(1), trims(1)), then(saves(2), trims(2))), Before: two,
				Faults: 1}, false},
		{"a seed and two appenders", adversary.Model{Scripts: callers(seeds(7), appends("a1"), appends("b1"))}, true},
		{"two seeds and an appender", adversary.Model{Scripts: callers(seeds(7), seeds(9), appends("a1"))}, true},
		{"a seed and an appender, two faults", adversary.Model{Scripts: callers(seeds(7), appends("a1")), Faults: 2},
			true},
		{"two appenders that are passed, one reply lost",
			adversary.Model{Scripts: callers(appends("a1"), appends("b1"), compacts), Before: two, Faults: 1,
				Only: "reply lost"}, false},
	}
}

// TestEveryInterleavingSeconds is TestEveryInterleaving on larger scenarios.
func TestEveryInterleavingSeconds(t *testing.T) {
	t.Parallel()
	explore(t, seconds())
}
