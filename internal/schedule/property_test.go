package schedule

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// One class, no rules: any two members differ by at most one item per weight, and no fewer moves would do.
func TestEvenWithFewestMoves(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		w := plain(rt, true)
		before := slices.Clone(w.items)
		p := Place(w.view(), -1)
		w.apply(t, p)
		w.mustBeEven(rt)
		if got, least := started(p), leastMoves(&world{w.members, w.classes, before}); got != least {
			rt.Fatalf("%d moves of owned items, %d would do", got, least)
		}
	})
}

func (w *world) mustBeEven(t *rapid.T) {
	load, _ := w.loads()
	item := itemWeight(&w.classes[0])
	for _, i := range w.items {
		if i.Owner < 0 {
			t.Fatalf("item %s has no owner", i.ID)
		}
	}
	for a := range load {
		for b := range load {
			if load[a] > 0 && load[a]*w.weight(b) > (load[b]+item)*w.weight(a) {
				t.Fatalf("loads %v: %d has an item too many against %d", load, a, b)
			}
		}
	}
}

func (w *world) weight(m int) int64 {
	if w.members[m].Weight <= 0 {
		return 100
	}
	return w.members[m].Weight
}

// leastMoves is the dumb twin: it tries all ways to share the number of items among the members, keeps the even ones
// and counts what each of them must take away from somebody.
func leastMoves(w *world) int {
	_, have := w.loads()
	want := make([]int64, 0, len(w.members))
	best := len(w.items) + 1
	var try func(left int64)
	try = func(left int64) {
		if len(want) == len(w.members) {
			if left == 0 {
				best = min(best, taken(have, want))
			}
			return
		}
		for n := range left + 1 {
			want = append(want, n)
			if w.even(want) {
				try(left - n)
			}
			want = want[:len(want)-1]
		}
	}
	try(int64(len(w.items)))
	return best
}

func taken(have, want []int64) (n int) {
	for m := range want {
		n += int(max(0, have[m]-want[m]))
	}
	return n
}

// even says whether the last of some members has no item too many against the others, nor they against it.
func (w *world) even(want []int64) bool {
	last := len(want) - 1
	for m := range last {
		if want[m]*w.weight(last) > (want[last]+1)*w.weight(m) || want[last]*w.weight(m) > (want[m]+1)*w.weight(last) {
			return false
		}
	}
	return true
}

// With all rules at once: nobody gets what it may not have, nobody gets more than it has room for, and the second plan
// is empty.
func TestRulesHold(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		w := ruled(rt)
		_, before := w.loads()
		p := Place(w.view(), -1)
		w.apply(t, p)
		w.mustObey(rt, p, before)
		if again := Place(w.view(), -1); len(again.Moves) > 0 || again.Deferred > 0 {
			rt.Fatalf("planning again wants %+v after %+v", again, p)
		}
	})
}

func (w *world) mustObey(t *rapid.T, p Plan, before []int64) {
	_, count := w.loads()
	for i, m := range w.members {
		if m.Capacity > 0 && count[i] > max(m.Capacity, before[i]) {
			t.Fatalf("%s has %d items, before %d, capacity %d", m.ID, count[i], before[i], m.Capacity)
		}
	}
	for _, mv := range p.Moves {
		c := &w.classes[mv.Class]
		if mv.To >= 0 && (!w.members[mv.To].takes() || !w.allowed(mv.To, c)) {
			t.Fatalf("%+v: not allowed there", mv)
		}
		if mv.To < 0 && w.allowed(mv.From, c) {
			t.Fatalf("%+v: taken away though it may stay", mv)
		}
	}
	for _, i := range w.items {
		if i.Owner >= 0 && i.Movable && !w.allowed(i.Owner, &w.classes[i.Class]) {
			t.Fatalf("%+v stays where it may not be", i)
		}
		if i.Owner < 0 {
			w.mustHaveNoRoom(t, i, count)
		}
	}
}

func (w *world) mustHaveNoRoom(t *rapid.T, i Item, count []int64) {
	for m := range w.members {
		full := w.members[m].Capacity > 0 && count[m] >= w.members[m].Capacity
		if w.allowed(m, &w.classes[i.Class]) && w.members[m].takes() && !full {
			t.Fatalf("%s has no owner though %s has room", i.ID, w.members[m].ID)
		}
	}
}

// A plan within a budget starts no more moves than that, and plans within a budget, one after another, come to rest.
func TestBudgetConverges(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		w := ruled(rt)
		budget := rapid.IntRange(1, 5).Draw(rt, "budget")
		for round := 0; ; round++ {
			_, before := w.loads()
			p := Place(w.view(), int64(budget))
			if n := started(p); n > budget {
				rt.Fatalf("%d moves started, budget %d", n, budget)
			}
			if len(p.Moves) == 0 {
				break
			}
			if round > 200 {
				rt.Fatalf("not at rest after %d rounds: %+v", round, p)
			}
			w.apply(t, p)
			w.mustObeyPartly(rt, p, before)
		}
		if p := Place(w.view(), -1); len(p.Moves) > 0 {
			rt.Fatalf("at rest with a budget, but without one %+v", p)
		}
	})
}

func (w *world) mustObeyPartly(t *rapid.T, p Plan, before []int64) {
	_, count := w.loads()
	for i, m := range w.members {
		if m.Capacity > 0 && count[i] > max(m.Capacity, before[i]) {
			t.Fatalf("%s has %d items, before %d, capacity %d", m.ID, count[i], before[i], m.Capacity)
		}
	}
	for _, mv := range p.Moves {
		if mv.To >= 0 && (!w.members[mv.To].takes() || !w.allowed(mv.To, &w.classes[mv.Class])) {
			t.Fatalf("%+v: not allowed there", mv)
		}
	}
}

// However small the budget, what has no owner is placed.
func TestBudgetDoesNotHoldBackPlacement(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		w := ruled(rt)
		budget := rapid.IntRange(0, 2).Draw(rt, "budget")
		for i := range w.members {
			w.members[i].Capacity = 0
		}
		p := Place(w.view(), int64(budget))
		if n := started(p); n > budget {
			rt.Fatalf("%d moves started, budget %d", n, budget)
		}
		w.apply(t, p)
		_, count := w.loads()
		for _, i := range w.items {
			if i.Owner < 0 {
				w.mustHaveNoRoom(rt, i, count)
			}
		}
	})
}

// One class: the budget is used up, and what is left is counted.
func TestDeferredIsCounted(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		w := plain(rt, true)
		all := started(Place(w.view(), -1))
		budget := rapid.IntRange(0, all+1).Draw(rt, "budget")
		p := Place(w.view(), int64(budget))
		if got := started(p); got != min(all, budget) || p.Deferred != all-got {
			rt.Fatalf("of %d moves %d are started and %d deferred, budget %d", all, got, p.Deferred, budget)
		}
	})
}

func started(p Plan) (n int) {
	for _, m := range p.Moves {
		if m.From >= 0 {
			n++
		}
	}
	return n
}

// Whether a view is sparse does not matter.
func TestSparseIsTheSame(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		w := ruled(rt)
		want := Place(w.view(), -1)
		if got := Place(struct{ View }{w.view()}, -1); !reflect.DeepEqual(got, want) {
			rt.Fatalf("not sparse: %+v, want %+v", got, want)
		}
	})
}

// Spread: zones with room differ by at most one item of the class.
func TestSpreadIsEven(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		w := ruled(rt)
		for i := range w.members {
			w.members[i].Capacity = 0
		}
		for i := range w.items {
			w.items[i].Movable = true
		}
		w.apply(t, Place(w.view(), -1))
		for c := range w.classes {
			w.mustBeSpread(rt, c)
		}
	})
}

func (w *world) mustBeSpread(t *rapid.T, c int) {
	class := &w.classes[c]
	closed := slices.ContainsFunc(w.members, func(m Member) bool { return m.Closed }) // what it keeps may be uneven
	if class.SpreadOver == "" || class.Pin != "" || closed {
		return
	}
	held := map[string]int{}
	for m := range w.members {
		if w.allowed(m, class) && w.members[m].takes() {
			held[w.zone(m, class.SpreadOver)] = 0
		}
	}
	low, high := len(w.items), 0
	for _, i := range w.items {
		if i.Class == c && i.Owner >= 0 && w.members[i.Owner].takes() {
			held[w.zone(i.Owner, class.SpreadOver)]++
		}
	}
	for _, n := range held {
		low, high = min(low, n), max(high, n)
	}
	if high > low+1 {
		t.Fatalf("class %s: %s", class.Key, strings.TrimPrefix(fmt.Sprint(held), "map"))
	}
}
