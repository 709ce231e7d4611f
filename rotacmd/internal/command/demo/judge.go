package demo

import (
	"cmp"
	"math"
	"slices"

	"github.com/rota-run/rota/internal/node"
)

// Cut is an instant from which on a member did nothing: it was killed, or its process suspended.
type Cut struct {
	Member string
	AtNS   int64
}

// Interval is one run of a partition on one member.
type Interval struct {
	Member, Partition string
	Token             uint64
	FromNS, ToNS      int64 // ToNS is open for a run that goes on
}

// open is the end of a run that has not ended.
const open = math.MaxInt64

// Intervals makes runs of start and stop lines, which it sorts by time. The runs are sorted by partition and begin. One
// that was going on at a cut of its member ends there: what its stop line says is only when the process found out.
func Intervals(lines []node.WitnessLine, cuts []Cut) []Interval {
	slices.SortStableFunc(lines, func(a, b node.WitnessLine) int { return cmp.Compare(a.AtNS, b.AtNS) })
	var out []Interval
	for _, l := range lines {
		switch l.Event {
		case "start":
			out = append(out, Interval{Member: l.Member, Partition: l.Partition, Token: l.Token, FromNS: l.AtNS,
				ToNS: open})
		case "stop":
			if i := last(out, l); i >= 0 {
				out[i].ToNS = l.AtNS
			}
		}
	}
	for i := range out {
		for _, c := range cuts {
			if c.Member == out[i].Member && out[i].FromNS <= c.AtNS && c.AtNS < out[i].ToNS {
				out[i].ToNS = c.AtNS
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Interval) int {
		return cmp.Or(cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.FromNS, b.FromNS))
	})
	return out
}

func last(runs []Interval, l node.WitnessLine) int {
	for i := len(runs) - 1; i >= 0; i-- {
		if r := runs[i]; r.Member == l.Member && r.Partition == l.Partition && r.Token == l.Token {
			return i
		}
	}
	return -1
}

// Overlaps counts pairs of runs of one partition on two members that went on at the same time, and acts under a token
// when a run under a newer one had already begun elsewhere.
func Overlaps(runs []Interval, acts []node.WitnessLine) int {
	count := 0
	for i, r := range runs {
		for _, later := range runs[i+1:] {
			if later.Partition != r.Partition {
				break // runs are sorted
			}
			if later.Member != r.Member && later.FromNS < r.ToNS {
				count++
			}
		}
	}
	for _, a := range acts {
		if slices.ContainsFunc(runs, func(r Interval) bool {
			return r.Partition == a.Partition && r.Member != a.Member && r.Token > a.Token && r.FromNS < a.AtNS
		}) {
			count++
		}
	}
	return count
}

// Move is a partition that went from one member to another.
type Move struct {
	Partition, From, To string
	GapNS               int64 // from the end of the one run to the begin of the other
	AtNS                int64 // the begin
}

// Moves are the moves among the runs, sorted by when they were done.
func Moves(runs []Interval) []Move {
	var out []Move
	for i := 1; i < len(runs); i++ {
		a, b := runs[i-1], runs[i]
		if a.Partition == b.Partition && a.Member != b.Member {
			out = append(out, Move{Partition: b.Partition, From: a.Member, To: b.Member, GapNS: b.FromNS - a.ToNS,
				AtNS: b.FromNS})
		}
	}
	slices.SortStableFunc(out, func(a, b Move) int { return cmp.Compare(a.AtNS, b.AtNS) })
	return out
}

// Between are the moves done in [from, to).
func Between(moves []Move, from, to int64) []Move {
	return slices.DeleteFunc(slices.Clone(moves), func(m Move) bool { return m.AtNS < from || m.AtNS >= to })
}

// LongestGapMS is the longest gap in ms, rounded up; 0 without moves.
func LongestGapMS(moves []Move) int64 {
	var longest int64
	for _, m := range moves {
		longest = max(longest, m.GapNS)
	}
	return wholeMS(longest)
}

// longestSilenceMS is the longest from an act to the start elsewhere of what its member ran, in ms, rounded up; 0
// without moves away from it.
func longestSilenceMS(a Act, moves []Move) int64 {
	var longest int64
	for _, m := range moves {
		if m.From == a.Member {
			longest = max(longest, m.AtNS-a.AtNS)
		}
	}
	return wholeMS(longest)
}

func wholeMS(ns int64) int64 { return (ns + 999_999) / 1_000_000 }

// Running are the partitions that run at the end, with their members.
func Running(runs []Interval) map[string]string {
	out := map[string]string{}
	for _, r := range runs {
		if r.ToNS == open {
			out[r.Partition] = r.Member
		}
	}
	return out
}
