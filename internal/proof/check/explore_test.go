package check_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/rota-run/rota/internal/proof/check"
)

// jugs is the old puzzle: two jugs that hold 3 and 5 litres, a tap and a drain. Its 16 states are known, and so is the
// shortest way to 4 litres.
type jugs struct{ small, big int }

type puzzle struct {
	sealed bool // pouring out is no longer possible
	broken func(jugs) string
	good   func(jugs) bool
}

func (puzzle) Start() []jugs          { return []jugs{{}} }
func (puzzle) Key(s jugs) string      { return fmt.Sprint(s) }
func (p puzzle) Broken(s jugs) string { return p.broken(s) }
func (p puzzle) Good(s jugs) bool     { return p.good(s) }

func (p puzzle) Next(s jugs) []check.Move[jugs] {
	toBig, toSmall := min(s.small, 5-s.big), min(s.big, 3-s.small)
	moves := []check.Move[jugs]{
		{Name: "fill small", To: jugs{3, s.big}},
		{Name: "fill big", To: jugs{s.small, 5}},
		{Name: "small to big", To: jugs{s.small - toBig, s.big + toBig}},
		{Name: "big to small", To: jugs{s.small + toSmall, s.big - toSmall}},
	}
	if !p.sealed {
		moves = append(moves, check.Move[jugs]{Name: "empty small", To: jugs{0, s.big}},
			check.Move[jugs]{Name: "empty big", To: jugs{s.small, 0}})
	}
	return moves
}

func sound(jugs) string { return "" }
func always(jugs) bool  { return true }
func empty(s jugs) bool { return s == jugs{} }

func TestExplore(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		model   puzzle
		options check.Options
		want    check.Report
	}{
		{"all of it", puzzle{false, sound, always}, check.Options{},
			check.Report{States: 16, Moves: 96, Depth: 7, Complete: true}},
		{"good ends far away", puzzle{false, sound, empty}, check.Options{},
			check.Report{States: 16, Moves: 96, Depth: 7, Complete: true}},
		{"stopped early", puzzle{false, sound, always}, check.Options{States: 5},
			check.Report{States: 6, Moves: 18, Depth: 2}},
		{"no way back", puzzle{true, sound, empty}, check.Options{}, check.Report{
			States: 8, Moves: 32, Depth: 4, Complete: true,
			Violations: []check.Violation{{Promise: check.NoGoodEnd, Trace: []string{"fill small"}}},
		}},
		{"four litres", puzzle{false, four, always}, check.Options{Violations: 1}, check.Report{
			States: 14, Moves: 72, Depth: 6,
			Violations: []check.Violation{{Promise: "never four litres", Trace: []string{
				"fill big", "big to small", "empty small", "big to small", "fill big", "big to small",
			}}},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := check.Explore(c.model, c.options)
			got.Digest = 0
			if fmt.Sprint(got) != fmt.Sprint(c.want) {
				t.Errorf("got %+v\nwant %+v", got, c.want)
			}
		})
	}
}

// TestDigest: a walk has one digest, and another one when something else is said, however alike its states.
func TestDigest(t *testing.T) {
	t.Parallel()
	p := puzzle{false, sound, always}
	first := check.Explore(p, check.Options{}).Digest
	if again := check.Explore(p, check.Options{}).Digest; again != first || first == 0 {
		t.Errorf("got %x, then %x", first, again)
	}
	if got := check.Explore(loud{p}, check.Options{}).Digest; got == first {
		t.Error("what is said on the way makes no difference")
	}
}

// loud is a puzzle in which something is said.
type loud struct{ puzzle }

func (l loud) Next(s jugs) []check.Move[jugs] {
	moves := l.puzzle.Next(s)
	moves[0].Said = 1
	return moves
}

func four(s jugs) string {
	if s.big == 4 {
		return "never four litres"
	}
	return ""
}

// TestTraces walks each trace again: it must lead to the state that was reported.
func TestTraces(t *testing.T) {
	t.Parallel()
	p := puzzle{false, four, always}
	for _, v := range check.Explore(p, check.Options{}).Violations {
		s := p.Start()[0]
		for _, name := range v.Trace {
			moves := p.Next(s)
			s = moves[slices.IndexFunc(moves, func(m check.Move[jugs]) bool { return m.Name == name })].To
		}
		if four(s) == "" {
			t.Errorf("the trace %v ends in %v", v.Trace, s)
		}
	}
}
