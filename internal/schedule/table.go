package schedule

import (
	"cmp"
	"slices"
	"strings"
)

// Item is one item to place, for a Table.
type Item struct {
	ID      string
	Class   int  // index into the classes given to NewTable
	Owner   int  // index into the members given to NewTable; −1 for none
	Movable bool // its owner may be changed now; an item without an owner is always placed
}

// Table is a View of flat arrays, for planning from scratch. It does not change after NewTable and may be read from any
// goroutine.
type Table struct {
	members []Member
	classes []Class
	items   []Item
	order   []int32 // the items by owner, then class, then ID; those without an owner first
	bucket  []int32 // by (owner + 1) × classes + class: where its items begin in order
}

// NewTable builds a view. It computes Load and Count of the members itself. Members, classes and items may come in any
// order. Sorted input, by ID or Key, is used as it is, so that the indexes of moves refer to it; otherwise it is copied
// and sorted. The caller must not change its input afterwards.
func NewTable(members []Member, classes []Class, items []Item) *Table {
	t := &Table{classes: classes, items: items}
	t.members = slices.Clone(members)
	for i := range t.members {
		t.members[i].Load, t.members[i].Count = 0, 0
	}
	t.sortMembers()
	t.sortClasses()
	t.sortItems()
	t.divide()
	return t
}

func (t *Table) sortMembers() {
	byID := func(a, b Member) int { return strings.Compare(a.ID, b.ID) }
	if slices.IsSortedFunc(t.members, byID) {
		return
	}
	to := permutation(len(t.members), func(a, b int) int { return byID(t.members[a], t.members[b]) })
	t.members = permuted(t.members, to)
	t.items = slices.Clone(t.items)
	for i := range t.items {
		if o := t.items[i].Owner; o >= 0 {
			t.items[i].Owner = to[o]
		}
	}
}

func (t *Table) sortClasses() {
	byKey := func(a, b Class) int { return strings.Compare(a.Key, b.Key) }
	if slices.IsSortedFunc(t.classes, byKey) {
		return
	}
	to := permutation(len(t.classes), func(a, b int) int { return byKey(t.classes[a], t.classes[b]) })
	t.classes = permuted(t.classes, to)
	t.items = slices.Clone(t.items)
	for i := range t.items {
		t.items[i].Class = to[t.items[i].Class]
	}
}

func (t *Table) sortItems() {
	byID := func(a, b Item) int { return strings.Compare(a.ID, b.ID) }
	for i := 1; i < len(t.items); i++ {
		if t.items[i].ID < t.items[i-1].ID {
			t.items = slices.SortedFunc(slices.Values(t.items), byID)
			return
		}
	}
}

// permutation says where each of n things goes when they are sorted.
func permutation(n int, compare func(a, b int) int) []int {
	from := make([]int, n)
	for i := range from {
		from[i] = i
	}
	slices.SortFunc(from, func(a, b int) int { return cmp.Or(compare(a, b), cmp.Compare(a, b)) })
	to := make([]int, n)
	for i, f := range from {
		to[f] = i
	}
	return to
}

func permuted[T any](s []T, to []int) []T {
	out := make([]T, len(s))
	for i, t := range to {
		out[t] = s[i]
	}
	return out
}

// divide sorts the items into buckets by counting.
func (t *Table) divide() {
	n := len(t.classes)
	t.bucket = make([]int32, (len(t.members)+1)*n+1)
	t.order = make([]int32, len(t.items))
	for i := range t.items {
		t.bucket[(t.items[i].Owner+1)*n+t.items[i].Class+1]++
	}
	for b := 1; b < len(t.bucket); b++ {
		t.bucket[b] += t.bucket[b-1]
	}
	for i := range t.items {
		b := (t.items[i].Owner+1)*n + t.items[i].Class
		t.order[t.bucket[b]] = int32(i)
		t.bucket[b]++
	}
	copy(t.bucket[1:], t.bucket) // each bucket had moved on to its end, which is where the next begins
	t.bucket[0] = 0
	for m := range t.members {
		for c := range t.classes {
			k := int64(t.Count(m, c))
			t.members[m].Count += k
			t.members[m].Load += k * itemWeight(&t.classes[c])
		}
	}
}

// Members returns the members in order of ID.
func (t *Table) Members() []Member { return t.members }

// Classes returns the classes in order of Key.
func (t *Table) Classes() []Class { return t.classes }

// Items returns the items in order of ID, with their owners and classes as indexes into Members and Classes.
func (t *Table) Items() []Item { return t.items }

func (t *Table) span(m, c int) []int32 {
	b := (m+1)*len(t.classes) + c
	return t.order[t.bucket[b]:t.bucket[b+1]]
}

// Unplaced yields the items of class c without an owner, in order of ID.
func (t *Table) Unplaced(c int, yield func(item string) bool) {
	for _, i := range t.span(-1, c) {
		if !yield(t.items[i].ID) {
			return
		}
	}
}

// Owned yields the movable items of class c that member m owns, in order of ID.
func (t *Table) Owned(m, c int, yield func(item string) bool) {
	for _, i := range t.span(m, c) {
		if t.items[i].Movable && !yield(t.items[i].ID) {
			return
		}
	}
}

// Count returns how many items of class c member m owns.
func (t *Table) Count(m, c int) int { return len(t.span(m, c)) }

// Present yields the classes of which member m has items.
func (t *Table) Present(m int, yield func(c, count int) bool) {
	for c := range t.classes {
		if n := t.Count(m, c); n > 0 && !yield(c, n) {
			return
		}
	}
}

var _ Sparse = (*Table)(nil)
