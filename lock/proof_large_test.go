//go:build proof

package lock

import (
	"testing"

	"github.com/rota-run/rota/internal/proof/check"
)

// TestProofWithDeaths is TestProof with processes that die or are suspended: seconds each.
func TestProofWithDeaths(t *testing.T) {
	t.Parallel()
	prove(t, map[string]check.Model[system]{
		"one dies":                   model{procs: 2, size: 1, faults: faults{crash: 1}},
		"one dies, with its session": model{procs: 2, size: 1, faults: faults{crash: 1}, expires: true},
		"one dies, and the next one is slow to see it": model{procs: 2, size: 1, faults: faults{crash: 1}, held: true,
			slow: true},
		"one is suspended": model{procs: 2, size: 1, faults: faults{suspend: 1}, held: true},
		"one is suspended, and its session expires": model{procs: 2, size: 1, faults: faults{suspend: 1}, expires: true,
			held: true},
		"a write is late, one gives up": model{procs: 2, size: 1, faults: faults{late: 1, cancel: 1}, held: true},
	})
}

// TestFlawsWithDeaths is TestFlaws with flaws that show only after a suspension: seconds each.
func TestFlawsWithDeaths(t *testing.T) {
	t.Parallel()
	findFlaws(t, []flawed{
		{flawAcked, faults{suspend: 1}, true, false, []string{promiseOne}},
		{flawRevive, faults{suspend: 2}, false, true, []string{promiseOne}},
		{flawNoClock, faults{suspend: 1}, false, true, []string{promiseOne}},
	})
}

// TestProofLarge is the same with more faults at once, or from the very beginning: minutes, and some GB of memory.
func TestProofLarge(t *testing.T) {
	prove(t, map[string]check.Model[system]{
		"one is suspended": model{procs: 2, size: 1, faults: faults{suspend: 1}},
		"one is suspended, and its session expires": model{procs: 2, size: 1, faults: faults{suspend: 1},
			expires: true},
		"one is suspended, different TTLs": model{procs: 2, size: 1, faults: faults{suspend: 1}, slow: true,
			held: true},
		"a write is late":                   model{procs: 2, size: 1, faults: faults{late: 1}},
		"a write is late, one gives up":     model{procs: 2, size: 1, faults: faults{late: 1, cancel: 1}},
		"an answer is lost, one gives up":   model{procs: 2, size: 1, faults: faults{lost: 1, cancel: 1}},
		"one dies, a write is late":         model{procs: 2, size: 1, faults: faults{crash: 1, late: 1}, held: true},
		"one dies, one is suspended":        model{procs: 2, size: 1, faults: faults{crash: 1, suspend: 1}, held: true},
		"one is suspended twice":            model{procs: 2, size: 1, faults: faults{suspend: 2}, held: true},
		"one is suspended, a write is late": model{procs: 2, size: 1, faults: faults{suspend: 1, late: 1}, held: true},
		"three":                             model{procs: 3, size: 1, held: true},
		"three, one dies":                   model{procs: 3, size: 1, faults: faults{crash: 1}, held: true},
		"three on two places":               model{procs: 3, size: 2},
	})
}
