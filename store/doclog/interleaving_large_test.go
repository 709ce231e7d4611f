//go:build proof

package doclog

import (
	"testing"

	"github.com/rota-run/rota/internal/proof/mutant/mutanttest"
)

// seconds are scenarios that take seconds each.
func seconds() []scenario {
	one, two := appends("x1"), appends("x1", "x2")
	saved := then(two, saves(2))
	return []scenario{
		{"two appenders, a trimmer and a reader", model{scripts: []script{appends("a1"), appends("b1"), trims(2), page(1)}, before: saved, known: []uint64{1, 2, 2, 2}}},
		{"two trimmers", model{scripts: []script{then(saves(1), trims(1)), then(saves(2), trims(2))}, before: two}},
		{"two trimmers and a reader", model{scripts: []script{then(saves(1), trims(1)), saves(2), reads}, before: two, known: []uint64{2, 2, 2}}},
		{"two trims of one snapshot", model{scripts: []script{trims(1), trims(2), appends("a1")}, before: saved, known: []uint64{2, 2, 2}}},
		{"a seed and two appenders", model{scripts: []script{seeds(7), appends("a1"), appends("b1")}, seeding: true}},
		{"two seeds and an appender", model{scripts: []script{seeds(7), seeds(9), appends("a1")}, seeding: true}},
		{"two appenders that are passed, one reply lost", model{scripts: []script{appends("a1"), appends("b1"), compacts}, before: one, known: []uint64{1, 1, 1}, faults: 1, only: "reply lost"}},
		{"two trimmers, one fault", model{scripts: []script{then(saves(1), trims(1)), saves(2)}, before: two, known: []uint64{2, 2}, faults: 1}},
		{"a seed and an appender, two faults", model{scripts: []script{seeds(7), appends("a1")}, seeding: true, faults: 2}},
	}
}

// TestEveryInterleavingSeconds is TestEveryInterleaving on the larger scenarios.
func TestEveryInterleavingSeconds(t *testing.T) {
	t.Parallel()
	explore(t, seconds())
}

// TestEveryInterleavingOneByOneSeconds is the same where each document is a request of its own.
func TestEveryInterleavingOneByOneSeconds(t *testing.T) {
	t.Parallel()
	explore(t, oneByOne(seconds()))
}

func TestFlawsAreFound(t *testing.T) {
	t.Setenv("GOFLAGS", "-tags=proof") // what is built has the larger scenarios too
	mutanttest.AreFound(t, "store/doclog", flaws())
}
