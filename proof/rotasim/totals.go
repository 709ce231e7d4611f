package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/rota-run/rota/proof/sim"
	"github.com/rota-run/rota/proof/sim/machine"
)

// totals add up what seeds showed. What they print does not depend on the order in which seeds ended.
type totals struct {
	machine  *machine.Machine
	first    uint64
	least    uint64 // how many seeds from the first must be run
	seeds    uint64
	wall     time.Duration
	sum      sim.Result // of all; the overlap is the longest
	gap      sim.Result // whose gap is nearest to its bound
	recovery sim.Result
	slowest  time.Duration
	slowSeed uint64
	digest   uint64   // of the seeds that must be run, whatever others the budget allowed
	differ   []uint64 // seeds that did not repeat
	broken   []string // promises
}

func (t *totals) add(r sim.Result, took time.Duration, same bool) {
	t.seeds++
	t.sum.Duration += r.Duration
	t.sum.Events += r.Events
	t.sum.Entries += r.Entries
	t.sum.Moves += r.Moves
	t.sum.Refused += r.Refused
	t.sum.Overlap = max(t.sum.Overlap, r.Overlap)
	if r.Seed-t.first < t.least {
		t.digest += (r.Digest ^ r.Seed) * 0x9E3779B97F4A7C15
	}
	for k, n := range r.Faults {
		t.sum.Faults[k] += n
	}
	for p, n := range r.Pairs {
		t.sum.Pairs[p] += n
	}
	if r.Gap.Nearer(t.gap.Gap) {
		t.gap = r
	}
	if r.Recovery.Nearer(t.recovery.Recovery) {
		t.recovery = r
	}
	if took > t.slowest {
		t.slowest, t.slowSeed = took, r.Seed
	}
	if !same {
		t.differ = append(t.differ, r.Seed)
	}
	if r.Violation != nil {
		t.broken = append(t.broken, r.Violation.Error())
	}
}

func (t *totals) unreached() []string {
	out := []string{}
	for _, p := range t.machine.Pairs() {
		if t.sum.Pairs[p] == 0 {
			out = append(out, fmt.Sprintf("%s in %s", p.Kind, p.Phase))
		}
	}
	return out
}

// failure is an error when a promise was broken, a seed did not repeat, too few seeds were run, or, if all pairs are
// asked for, one is missing.
func (t *totals) failure(allPairs bool) error {
	switch missing := len(t.unreached()); {
	case len(t.broken) > 0:
		return errBroken
	case len(t.differ) > 0:
		return errors.New("a seed gave another digest the second time")
	case t.seeds < t.least:
		return fmt.Errorf("%d of %d seeds were run", t.seeds, t.least)
	case allPairs && missing > 0:
		return fmt.Errorf("%d pairs of fault and phase were never reached", missing)
	}
	return nil
}

func (t *totals) print(out io.Writer, asJSON bool) {
	s, faults := &t.sum, 0
	for _, n := range s.Faults {
		faults += n
	}
	fmt.Fprintf(out, "%d seeds, %.1f cluster-hours in %s (%.1f per second), %d events, %d entries, %d moves\n",
		t.seeds, s.Duration.Hours(), t.wall.Round(time.Millisecond), s.Duration.Hours()/t.wall.Seconds(), s.Events,
		s.Entries, s.Moves)
	fmt.Fprintf(out, "%d faults of %d kinds:\n", faults, len(s.Faults))
	for _, k := range slices.Sorted(maps.Keys(s.Faults)) {
		fmt.Fprintf(out, "  %-16s %8d\n", k, s.Faults[k])
	}
	pairs, unreached := len(t.machine.Pairs()), t.unreached()
	fmt.Fprintf(out, "%d of %d pairs of fault and phase reached", pairs-len(unreached), pairs)
	for _, u := range unreached {
		fmt.Fprintf(out, "\n  never: %s", u)
	}
	fmt.Fprintf(out, "\nnearest to its bound: without an owner for %s (seed %d, TTL %s, %s), recovered after %s (seed %d)\n",
		t.gap.Gap, t.gap.Seed, t.gap.TTL, t.gap.Mode, t.recovery.Recovery, t.recovery.Seed)
	fmt.Fprintf(out, "longest excused overlap %s (the former owner was suspended or ignored its cancel), %d effects refused by their token\n",
		s.Overlap.Round(time.Millisecond), s.Refused)
	digest := fmt.Sprintf("%016x", t.digest)
	fmt.Fprintf(out, "slowest seed %d: %s; digest %s\n", t.slowSeed, t.slowest.Round(time.Millisecond), digest)
	if len(t.differ) > 0 {
		fmt.Fprintf(out, "NOT REPEATED: seeds %v gave another digest the second time\n", t.differ)
	}
	fmt.Fprintf(out, "%d violations\n", len(t.broken))
	if asJSON {
		slices.Sort(t.broken)
		printJSON(out, map[string]any{
			"protocol": t.machine.Name, "least_seeds": t.least, "seeds": t.seeds, "cluster_hours": s.Duration.Hours(),
			"events": s.Events, "faults": faults, "fault_kinds": len(s.Faults), "unreached": unreached,
			"violations": append([]string{}, t.broken...), "longest_gap_ms": t.gap.Gap.Took.Milliseconds(),
			"gap_bound_ms": t.gap.Gap.Bound.Milliseconds(), "longest_overlap_ms": s.Overlap.Milliseconds(),
			"digest": digest,
		})
	}
}
