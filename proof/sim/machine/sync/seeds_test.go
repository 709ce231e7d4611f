package sync_test

import (
	"testing"
	"time"

	"github.com/rota-run/rota/proof/sim"
	"github.com/rota-run/rota/proof/sim/machine/sync"
)

// TestSeeds runs some worlds. make sim runs many more, and longer.
func TestSeeds(t *testing.T) {
	t.Parallel()
	for seed := range uint64(6) {
		if r := sim.Run(sim.Config{Machine: sync.Machine(), Seed: seed,
			Duration: 3 * time.Minute}); r.Violation != nil {
			t.Error(r.Violation)
		}
	}
}

// TestSharingBeginsAgain: in this seed the group changes once more while owners share.
func TestSharingBeginsAgain(t *testing.T) {
	t.Parallel()
	if r := sim.Run(sim.Config{Machine: sync.Machine(), Seed: 810, Duration: 12 * time.Minute}); r.Violation != nil {
		t.Error(r.Violation)
	}
}

// TestSameSeedSameRun: a call that waits for the group goes on in the same order each time.
func TestSameSeedSameRun(t *testing.T) {
	t.Parallel()
	c := sim.Config{Machine: sync.Machine(), Seed: 2, Duration: 5 * time.Minute}
	first, second := sim.Run(c), sim.Run(c)
	if first.Digest != second.Digest || first.Events != second.Events || first.Events == 0 {
		t.Errorf("got digest %x after %d events, then %x after %d", first.Digest, first.Events, second.Digest,
			second.Events)
	}
}
