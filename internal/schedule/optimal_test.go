package schedule

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// overlapping draws few items of one weight whose classes allow overlapping sets of members, by labels that the members
// have.
func overlapping(t *rapid.T, capacities bool) *world {
	w := &world{}
	for i := range 5 {
		w.classes = append(w.classes,
			Class{Key: fmt.Sprint("c", i), Weight: 1, Selector: []Label{{"class", fmt.Sprint(i)}}})
	}
	for i := range rapid.IntRange(2, 5).Draw(t, "members") {
		m := Member{ID: fmt.Sprint("m", i)}
		for c := range w.classes {
			if rapid.IntRange(0, 2).Draw(t, "allowed") == 0 {
				m.Labels = append(m.Labels, Label{"class", fmt.Sprint(c)})
			}
		}
		if capacities {
			m.Capacity = rapid.Int64Range(1, 3).Draw(t, "capacity")
		}
		w.members = append(w.members, m)
	}
	for i := range rapid.IntRange(0, 7).Draw(t, "items") {
		it := Item{ID: fmt.Sprint("i", i), Class: rapid.IntRange(0, 4).Draw(t, "class"), Owner: -1, Movable: true}
		if !capacities {
			it.Owner = rapid.IntRange(-1, len(w.members)-1).Draw(t, "owner")
		}
		w.items = append(w.items, it)
	}
	return w
}

// outcome is how many items have an owner, and how uneven that is: the sum of the squares of the loads.
type outcome struct{ placed, squares int64 }

func (a outcome) better(b outcome) bool {
	return a.placed > b.placed || a.placed == b.placed && a.squares < b.squares
}

// bestOutcome is the dumb twin: it tries every owner for every item.
func bestOutcome(w *world) outcome {
	count := make([]int64, len(w.members))
	var best outcome
	var try func(i int)
	try = func(i int) {
		if i == len(w.items) {
			if got := outcomeOf(count); got.better(best) {
				best = got
			}
			return
		}
		try(i + 1)
		for m := range w.members {
			if c := w.members[m].Capacity; w.allowed(m, &w.classes[w.items[i].Class]) && (c == 0 || count[m] < c) {
				count[m]++
				try(i + 1)
				count[m]--
			}
		}
	}
	try(0)
	return best
}

func outcomeOf(count []int64) (o outcome) {
	for _, n := range count {
		o.placed += n
		o.squares += n * n
	}
	return o
}

// Classes that allow different members: nothing is more even, chains of moves included.
func TestOverlappingRulesAreOptimal(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		w := overlapping(rt, false)
		want := bestOutcome(w)
		w.apply(t, Place(w.view(), -1))
		_, count := w.loads()
		if got := outcomeOf(count); got != want {
			rt.Fatalf("loads %v are %+v, the best is %+v", count, got, want)
		}
	})
}

// Capacities: as many items have an owner as can, even if others must make room for them.
func TestAsManyAsFitArePlaced(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		w := overlapping(rt, true)
		want := bestOutcome(w)
		w.apply(t, Place(w.view(), -1))
		_, count := w.loads()
		if got := outcomeOf(count); got.placed != want.placed {
			rt.Fatalf("%d items are placed (%v), %d can be", got.placed, count, want.placed)
		}
	})
}
