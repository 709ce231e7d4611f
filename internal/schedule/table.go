package schedule

import "slices"

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

// NewTable builds a view of members sorted by ID, classes by Key and items by ID, so that the indexes of moves refer to
// them. It adds to Load and Count of the members what they own. The caller must not change classes and items after it.
func NewTable(members []Member, classes []Class, items []Item) *Table {
	t := &Table{members: slices.Clone(members), classes: classes, items: items}
	t.divide()
	return t
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
