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
	machine    *machine.Machine
	first      uint64
	least      uint64 // how many seeds from the first must be run
	seeds      uint64
	virtual    time.Duration
	wall       time.Duration
	events     uint64
	entries    uint64
	moves      int64
	faults     map[machine.Kind]int
	pairs      map[machine.Pair]int
	gap        sim.Result // whose gap is nearest to its bound
	recovery   sim.Result
	overlap    time.Duration
	refused    uint64
	slowest    time.Duration
	slowSeed   uint64
	digest     uint64   // of the seeds that must be run, whatever others the budget allowed
	differ     []uint64 // seeds that did not repeat
	violations []*sim.Violation
}

func newTotals(m *machine.Machine, first, least uint64) *totals {
	return &totals{machine: m, first: first, least: least, faults: map[machine.Kind]int{},
		pairs: map[machine.Pair]int{}}
}

func (t *totals) add(r sim.Result, took time.Duration, same bool) {
	t.seeds++
	t.virtual += r.Duration
	t.events += r.Events
	t.entries += r.Entries
	t.moves += r.Moves
	t.refused += r.Refused
	t.overlap = max(t.overlap, r.Overlap)
	if r.Seed-t.first < t.least {
		t.digest += (r.Digest ^ r.Seed) * 0x9E3779B97F4A7C15
	}
	for k, n := range r.Faults {
		t.faults[k] += n
	}
	for p, n := range r.Pairs {
		t.pairs[p] += n
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
		t.violations = append(t.violations, r.Violation)
	}
}

func (t *totals) unreached() []string {
	out := []string{}
	for _, p := range t.machine.Pairs() {
		if t.pairs[p] == 0 {
			out = append(out, fmt.Sprintf("%s in %s", p.Kind, p.Phase))
		}
	}
	return out
}

// failure is an error when a promise was broken, a seed did not repeat, too few seeds were run, or, if all pairs are
// asked for, one is missing.
func (t *totals) failure(allPairs bool) error {
	switch missing := len(t.unreached()); {
	case len(t.violations) > 0:
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

func (t *totals) faultCount() int {
	n := 0
	for _, c := range t.faults {
		n += c
	}
	return n
}

func (t *totals) print(out io.Writer, asJSON bool) {
	fmt.Fprintf(out, "%d seeds, %.1f cluster-hours in %s (%.1f per second), %d events, %d entries, %d moves\n",
		t.seeds, t.virtual.Hours(), t.wall.Round(time.Millisecond), t.virtual.Hours()/t.wall.Seconds(), t.events,
		t.entries, t.moves)
	fmt.Fprintf(out, "%d faults of %d kinds:\n", t.faultCount(), len(t.faults))
	for _, k := range slices.Sorted(maps.Keys(t.faults)) {
		fmt.Fprintf(out, "  %-16s %8d\n", k, t.faults[k])
	}
	unreached := t.unreached()
	fmt.Fprintf(out, "%d of %d pairs of fault and phase reached", len(t.machine.Pairs())-len(unreached),
		len(t.machine.Pairs()))
	for _, u := range unreached {
		fmt.Fprintf(out, "\n  never: %s", u)
	}
	fmt.Fprintf(out, "\nnearest to its bound: without an owner for %s (seed %d, TTL %s, %s), recovered after %s (seed %d)\n",
		t.gap.Gap, t.gap.Seed, t.gap.TTL, t.gap.Mode, t.recovery.Recovery, t.recovery.Seed)
	fmt.Fprintf(out, "longest excused overlap %s (the former owner was suspended or ignored its cancel), %d effects refused by their token\n",
		t.overlap.Round(time.Millisecond), t.refused)
	fmt.Fprintf(out, "slowest seed %d: %s; digest %s\n", t.slowSeed, t.slowest.Round(time.Millisecond),
		digestText(t.digest))
	if len(t.differ) > 0 {
		fmt.Fprintf(out, "NOT REPEATED: seeds %v gave another digest the second time\n", t.differ)
	}
	fmt.Fprintf(out, "%d violations\n", len(t.violations))
	if asJSON {
		t.printJSON(out, unreached)
	}
}

func (t *totals) printJSON(out io.Writer, unreached []string) {
	violations := []string{}
	for _, v := range t.violations {
		violations = append(violations, v.Error())
	}
	slices.Sort(violations)
	printJSON(out, struct {
		Protocol         string   `json:"protocol"`
		LeastSeeds       uint64   `json:"least_seeds"`
		Seeds            uint64   `json:"seeds"`
		ClusterHours     float64  `json:"cluster_hours"`
		Events           uint64   `json:"events"`
		Faults           int      `json:"faults"`
		FaultKinds       int      `json:"fault_kinds"`
		Unreached        []string `json:"unreached"`
		Violations       []string `json:"violations"`
		LongestGapMS     int64    `json:"longest_gap_ms"`
		GapBoundMS       int64    `json:"gap_bound_ms"`
		LongestOverlapMS int64    `json:"longest_overlap_ms"`
		Digest           string   `json:"digest"`
	}{t.machine.Name, t.least, t.seeds, t.virtual.Hours(), t.events, t.faultCount(), len(t.faults), unreached,
		violations,
		t.gap.Gap.Took.Milliseconds(), t.gap.Gap.Bound.Milliseconds(), t.overlap.Milliseconds(), digestText(t.digest)})
}

func digestText(d uint64) string { return fmt.Sprintf("%016x", d) }

func violationText(r sim.Result) string {
	if r.Violation == nil {
		return ""
	}
	return r.Violation.Error()
}
