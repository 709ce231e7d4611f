package schedule

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// world is what a test plans for: the plain form of a table.
type world struct {
	members []Member
	classes []Class
	items   []Item
}

func (w *world) view() *Table { return NewTable(w.members, w.classes, w.items) }

// apply carries a plan out. Members, classes and items of a world are sorted, so the indexes of moves are its own.
func (w *world) apply(t testing.TB, p Plan) {
	t.Helper()
	for _, m := range p.Moves {
		at, ok := slices.BinarySearchFunc(w.items, m.Item, func(i Item, id string) int {
			switch {
			case i.ID < id:
				return -1
			case i.ID > id:
				return 1
			}
			return 0
		})
		if !ok || w.items[at].Owner != m.From || w.items[at].Class != m.Class || m.From == m.To {
			t.Fatalf("move %+v does not fit %+v", m, w.items[at])
		}
		if m.From >= 0 && !w.items[at].Movable {
			t.Fatalf("move %+v of an item that may not be moved", m)
		}
		w.items[at].Owner = m.To
	}
}

func (w *world) loads() (load, count []int64) {
	load, count = make([]int64, len(w.members)), make([]int64, len(w.members))
	for _, i := range w.items {
		if i.Owner >= 0 {
			load[i.Owner] += itemWeight(&w.classes[i.Class])
			count[i.Owner]++
		}
	}
	return load, count
}

// allowed is the dumb reading of the rules.
func (w *world) allowed(m int, c *Class) bool {
	if c.Pin != "" && c.Pin != w.members[m].ID {
		return false
	}
	for _, l := range c.Selector {
		if !slices.Contains(w.members[m].Labels, l) {
			return false
		}
	}
	return c.SpreadOver == "" || w.zone(m, c.SpreadOver) != ""
}

func (w *world) zone(m int, label string) string {
	for _, l := range w.members[m].Labels {
		if l.Key == label {
			return l.Value
		}
	}
	return ""
}

// plain draws a world with one class, no labels, no capacities; every item owned by someone or nobody.
func plain(t *rapid.T, weighted bool) *world {
	w := &world{classes: []Class{{Key: "c", Weight: rapid.Int64Range(1, 3).Draw(t, "item weight")}}}
	for i := range rapid.IntRange(1, 8).Draw(t, "members") {
		m := Member{ID: fmt.Sprintf("m%02d", i)}
		if weighted {
			m.Weight = rapid.SampledFrom([]int64{0, 50, 100, 200, 333}).Draw(t, "weight")
		}
		w.members = append(w.members, m)
	}
	for i := range rapid.IntRange(0, 40).Draw(t, "items") {
		owner := rapid.IntRange(-1, len(w.members)-1).Draw(t, "owner")
		w.items = append(w.items, Item{ID: fmt.Sprintf("i%03d", i), Owner: owner, Movable: true})
	}
	return w
}

// ruled draws a world with everything in it.
func ruled(t *rapid.T) *world {
	w := &world{}
	labels := []Label{{"gpu", "yes"}, {"zone", "a"}, {"zone", "b"}, {"zone", "c"}, {"host", "x"}, {"host", "y"}}
	for i := range rapid.IntRange(1, 7).Draw(t, "members") {
		m := Member{ID: fmt.Sprintf("m%02d", i), Weight: rapid.SampledFrom([]int64{0, 0, 50, 200}).Draw(t, "weight")}
		m.Capacity = rapid.SampledFrom([]int64{0, 0, 0, 2, 5, 9}).Draw(t, "capacity")
		kind := rapid.IntRange(0, 9).Draw(t, "draining or closed")
		m.Draining, m.Closed = kind < 2, kind == 2
		m.Labels = rapid.SliceOfNDistinct(rapid.SampledFrom(labels), 0, 3, func(l Label) string { return l.Key }).Draw(t, "labels")
		w.members = append(w.members, m)
	}
	weights := rapid.SampledFrom([][]int64{{1}, {1, 1, 2, 5}}).Draw(t, "weights")
	for i := range rapid.IntRange(1, 5).Draw(t, "classes") {
		c := Class{Key: fmt.Sprintf("c%d", i), Weight: rapid.SampledFrom(weights).Draw(t, "item weight")}
		c.Selector = rapid.SliceOfNDistinct(rapid.SampledFrom(labels[:4]), 0, 1, func(l Label) string { return l.Key }).Draw(t, "selector")
		switch rapid.IntRange(0, 5).Draw(t, "rule") {
		case 0:
			c.Pin = rapid.SampledFrom([]string{"m00", "m01", "m99"}).Draw(t, "pin")
		case 1, 2:
			c.SpreadOver = rapid.SampledFrom([]string{"zone", "host"}).Draw(t, "spread")
		}
		w.classes = append(w.classes, c)
	}
	for i := range rapid.IntRange(0, 40).Draw(t, "items") {
		w.items = append(w.items, Item{
			ID: fmt.Sprintf("i%03d", i), Class: rapid.IntRange(0, len(w.classes)-1).Draw(t, "class"),
			Owner: rapid.IntRange(-1, len(w.members)-1).Draw(t, "owner"), Movable: rapid.IntRange(0, 5).Draw(t, "held") > 0,
		})
	}
	return w
}
