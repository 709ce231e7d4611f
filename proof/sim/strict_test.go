package sim_test

import (
	"testing"
	"time"

	"github.com/rota-run/rota/internal/proof/check"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/proof/sim"
	"github.com/rota-run/rota/proof/sim/machine"
	"github.com/rota-run/rota/proof/sim/machine/replica"
	"github.com/rota-run/rota/proof/sim/walk"
	"github.com/rota-run/rota/protocol"
)

// mistakes are in what effects say: no time, no value and no number of effects differs.
func mistakes() map[string]func(machine.Effect) machine.Effect {
	return map[string]func(machine.Effect) machine.Effect{
		"a grant has lost its cause": func(e machine.Effect) machine.Effect {
			a, ok := e.(member.Assign)
			if !ok {
				return e
			}
			grants := make([]*protocol.Grant, len(a.Assignment.Grants))
			for i, g := range a.Assignment.Grants {
				without := *g
				without.Cause, grants[i] = "", &without
			}
			a.Assignment.Grants = grants
			return a
		},
		"another incarnation is told than the member has": func(e machine.Effect) machine.Effect {
			if j, ok := e.(member.Joining); ok {
				j.Incarnation++
				return j
			}
			return e
		},
		"what own commands did is not told": func(e machine.Effect) machine.Effect {
			if a, ok := e.(member.Applying); ok {
				a.Entries = nil
				return a
			}
			return e
		},
	}
}

// planted is a machine with a mistake in its effects, and the hash of what a digest of times, values and numbers of
// effects would notice.
func planted(mistake func(machine.Effect) machine.Effect) (*machine.Machine, *uint64) {
	m, loose := replica.Machine(), new(uint64)
	right := m.Step
	m.Step = func(s machine.State, ev machine.Event) []machine.Effect {
		fx := right(s, ev)
		for i, e := range fx {
			fx[i] = mistake(e)
		}
		v := s.Value()
		*loose = (*loose ^ uint64(v.Chain()) ^ uint64(v.Digest())<<1 ^ uint64(s.Now()) ^ uint64(len(fx))) * 0x9E3779B97F4A7C15 //nolint:gosec // a hash
		return fx
	}
	return m, loose
}

// TestDigestHasWhatEffectsSay plants mistakes that leave all times, values and numbers of effects as they are.
func TestDigestHasWhatEffectsSay(t *testing.T) {
	t.Parallel()
	run := func(mistake func(machine.Effect) machine.Effect) (loose, strict uint64) {
		m, l := planted(mistake)
		r := sim.Run(sim.Config{Machine: m, Seed: 2, Duration: 2 * time.Minute})
		return *l, r.Digest
	}
	loose, strict := run(func(e machine.Effect) machine.Effect { return e })
	for name, mistake := range mistakes() {
		if l, s := run(mistake); l != loose || s == strict {
			t.Errorf("%s: got digest %x as without it; the same times, values and numbers: %t", name, s, l == loose)
		}
	}
}

// TestWalksDigestHasWhatEffectsSay plants the same mistakes in what the checker walks: the states are the same, the
// digest is not.
func TestWalksDigestHasWhatEffectsSay(t *testing.T) {
	t.Parallel()
	explore := func(mistake func(machine.Effect) machine.Effect) check.Report {
		rules := replica.Rules()
		right := rules.Machine.Step
		rules.Machine.Step = func(s machine.State, ev machine.Event) []machine.Effect {
			fx := right(s, ev)
			for i, e := range fx {
				fx[i] = mistake(e)
			}
			return fx
		}
		return check.Explore(walk.New(rules, walk.Config{Members: 2, Partitions: 1,
			Faults: walk.Faults{walk.Crashes: 1}, Prompt: true}),
			check.Options{})
	}
	want := explore(func(e machine.Effect) machine.Effect { return e })
	for name, mistake := range mistakes() {
		if got := explore(mistake); got.States != want.States || got.Moves != want.Moves || got.Digest == want.Digest {
			t.Errorf("%s: got %d states, %d moves, digest %x; without it %d, %d, %x",
				name, got.States, got.Moves, got.Digest, want.States, want.Moves, want.Digest)
		}
	}
}
