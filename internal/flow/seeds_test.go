package flow

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// all are the faults of a walk: more, and of more kinds, than every order of them can be walked.
var all = faults{crash: 3, lapse: 3, lost: 3, fail: 3, late: 3, twice: 3, lag: 3, boot: 2}

// TestSeeds walks by chance where there is too much to walk everything: more messages, and all faults together. Every
// walk must keep the promises, and come to a good end. The build tag proof makes more walks.
func TestSeeds(t *testing.T) {
	t.Parallel()
	walks(t, 150)
}

func walks(t *testing.T, seeds uint64) {
	t.Helper()
	models := []model{
		{messages: 6, workers: 2, faults: all},
		{messages: 7, workers: 2, faults: all},
		{messages: 8, workers: 2, faults: all},
	}
	steps, done := 0, make([]int, len(all.list()))
	for seed := range seeds {
		end, trace := stroll(models[seed%3], rand.New(rand.NewPCG(seed, 17)))
		steps += len(trace)
		if end.broken != "" || !models[seed%3].Good(end) {
			t.Fatalf("seed %d: %q after %d steps, the last of which are\n%q", seed, end.broken, len(trace),
				trace[max(0, len(trace)-60):])
		}
		for i, left := range end.left.list() {
			done[i] += int(all.list()[i] - left)
		}
	}
	t.Logf("%d walks, %d steps; faults by kind: %v", seeds, steps, done)
	if slices.Min(done) < int(seeds)/4 { //nolint:gosec // thousands
		t.Error("a kind of fault is hardly ever played")
	}
}

// stroll takes one move after the other, by chance, to a good end, a broken promise, or nowhere. Most moves are no
// faults, so that some faults are left for the end.
func stroll(m model, chance *rand.Rand) (system, []string) {
	s, trace := m.Start()[0], []string(nil)
	for len(trace) < 20_000 && s.broken == "" && !m.Good(s) {
		from := s
		if chance.IntN(8) > 0 {
			from.left = faults{}
		}
		next := m.Next(from)
		if len(next) == 0 {
			break
		}
		move := next[chance.IntN(len(next))]
		if from.left != s.left {
			move.To.left = s.left
		}
		s, trace = move.To, append(trace, move.Name)
	}
	return s, trace
}
