package ordered

import (
	"cmp"
	"slices"
	"strings"
)

// Map is a sorted map with value semantics: copying the struct shares the nodes, and the first change of a copy leaves
// the others as they were. For that it is sealed before it is copied. The zero value is empty, and may be used.
type Map[K cmp.Ordered, V any] struct {
	top   *branch[K, V]
	count int
	own   *editor // whose nodes may be changed in place; nil while the map is sealed
}

// editor marks the nodes that were made since the map was sealed. It is not empty: each has an address of its own.
type editor struct{ _ byte }

// branch is a node of a B+ tree. A leaf has keys with their values. Another one has children, and a lower bound for the
// keys of each.
type branch[K cmp.Ordered, V any] struct {
	own  *editor
	keys []K
	vals []V
	kids []*branch[K, V]
}

// Bounds of a node: a full one is split, one that a removal leaves with fewer than the least is filled from its
// neighbour or joined with it. One that was split at its end may have fewer.
const (
	mostKeys  = 48
	leastKeys = mostKeys / 4
	spareKeys = 4
)

func editorOf[K cmp.Ordered, V any](m *Map[K, V]) *editor {
	if m.own == nil {
		m.own = new(editor)
	}
	return m.own
}

// Seal makes the next change copy what it changes, so that copies which are made before it stay as they are.
func Seal[K cmp.Ordered, V any](m *Map[K, V]) { m.own = nil }

// Get returns the value of a key, and whether the key is there.
func Get[K cmp.Ordered, V any](m *Map[K, V], k K) (v V, ok bool) {
	n := m.top
	if n == nil {
		return v, false
	}
	for n.kids != nil {
		n = n.kids[child(n, k)]
	}
	if i, found := find(n, k); found {
		return n.vals[i], true
	}
	return v, false
}

// Len is how many keys there are.
func Len[K cmp.Ordered, V any](m *Map[K, V]) int { return m.count }

// Set sets the value of a key.
func Set[K cmp.Ordered, V any](m *Map[K, V], k K, v V) { setBy(m, editorOf(m), k, v) }

func setBy[K cmp.Ordered, V any](m *Map[K, V], by *editor, k K, v V) {
	if m.top == nil {
		m.top = &branch[K, V]{own: by}
	}
	m.top = mine(m.top, by)
	right, added := set(m.top, by, k, v)
	if right != nil {
		m.top = &branch[K, V]{own: by, keys: []K{m.top.keys[0], right.keys[0]}, kids: []*branch[K, V]{m.top, right}}
	}
	if added {
		m.count++
	}
}

// Remove removes a key, if it is there.
func Remove[K cmp.Ordered, V any](m *Map[K, V], k K) { removeBy(m, editorOf(m), k) }

func removeBy[K cmp.Ordered, V any](m *Map[K, V], by *editor, k K) {
	if _, ok := Get(m, k); !ok {
		return
	}
	m.top = mine(m.top, by)
	remove(m.top, by, k)
	m.count--
	for len(m.top.kids) == 1 {
		m.top = m.top.kids[0]
	}
	if m.count == 0 {
		m.top = nil
	}
}

// Each yields the pairs in order of key.
func Each[K cmp.Ordered, V any](m *Map[K, V], yield func(K, V) bool) {
	if m.top != nil {
		each(m.top, yield)
	}
}

// From yields the pairs in order, beginning with the first key that is not less.
func From[K cmp.Ordered, V any](m *Map[K, V], k K, yield func(K, V) bool) {
	if m.top != nil {
		from(m.top, k, yield)
	}
}

// BackFrom yields the pairs in the opposite order, beginning with the last key that is not greater.
func BackFrom[K cmp.Ordered, V any](m *Map[K, V], k K, yield func(K, V) bool) {
	if m.top != nil {
		backFrom(m.top, k, yield)
	}
}

// Back yields all pairs in the opposite order.
func Back[K cmp.Ordered, V any](m *Map[K, V], yield func(K, V) bool) {
	if m.top != nil {
		back(m.top, yield)
	}
}

// find is the place of a key, and whether it is there.
func find[K cmp.Ordered, V any](n *branch[K, V], k K) (int, bool) {
	low, high := 0, len(n.keys)
	for low < high {
		if mid := int(uint(low+high) >> 1); n.keys[mid] < k { //nolint:gosec // not negative
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low, low < len(n.keys) && n.keys[low] == k
}

// child is the place of the child that has the key, if any has.
func child[K cmp.Ordered, V any](n *branch[K, V], k K) int {
	i, found := find(n, k)
	if found {
		return i
	}
	return max(i-1, 0)
}

// mine is the node, or a copy of it that the editor may change.
func mine[K cmp.Ordered, V any](n *branch[K, V], by *editor) *branch[K, V] {
	if n.own == by {
		return n
	}
	return &branch[K, V]{own: by, keys: clone(n.keys), vals: clone(n.vals), kids: clone(n.kids)}
}

// mineAt makes a child the editor's own.
func mineAt[K cmp.Ordered, V any](n *branch[K, V], by *editor, i int) *branch[K, V] {
	n.kids[i] = mine(n.kids[i], by)
	return n.kids[i]
}

// clone is a copy with as much room as it needs, nil for nil.
func clone[T any](s []T) []T {
	if s == nil {
		return nil
	}
	out := make([]T, len(s))
	copy(out, s)
	return out
}

// set sets a key in an own node. If the node had to be split it returns the right part.
func set[K cmp.Ordered, V any](n *branch[K, V], by *editor, k K, v V) (right *branch[K, V], added bool) {
	if n.kids == nil {
		i, found := find(n, k)
		if found {
			n.keys[i], n.vals[i] = k, v
			return nil, false
		}
		if len(n.keys) == mostKeys {
			right = split(n, by, i)
			if i > len(n.keys) || len(right.keys) == 0 {
				i -= len(n.keys)
				right.keys, right.vals = put(right.keys, i, k), put(right.vals, i, v)
				return right, true
			}
		}
		n.keys, n.vals = put(n.keys, i, k), put(n.vals, i, v)
		return right, true
	}
	i := child(n, k)
	n.keys[i] = min(n.keys[i], k)
	more, added := set(mineAt(n, by, i), by, k, v)
	if more == nil {
		return nil, added
	}
	into := n
	if i++; len(n.keys) == mostKeys {
		right = split(n, by, i)
		if i > len(n.keys) || len(right.keys) == 0 {
			into, i = right, i-len(n.keys)
		}
	}
	into.keys, into.kids = put(into.keys, i, more.keys[0]), put(into.kids, i, more)
	return right, added
}

// split takes the right half out of a full node to which something is added at i. At its end only what is added goes to
// the right: whoever adds in order leaves full nodes.
func split[K cmp.Ordered, V any](n *branch[K, V], by *editor, i int) *branch[K, V] {
	at := len(n.keys) / 2
	if i == len(n.keys) {
		at = i
	}
	right := &branch[K, V]{own: by, keys: clone(n.keys[at:])}
	if n.kids != nil {
		right.kids = clone(n.kids[at:])
		n.kids = cut(n.kids, at)
	} else {
		right.vals = clone(n.vals[at:])
		n.vals = cut(n.vals, at)
	}
	n.keys = cut(n.keys, at)
	return right
}

// cut is the first n of a list, without the others in its memory.
func cut[T any](s []T, n int) []T {
	if n == len(s) && n == cap(s) {
		return s
	}
	return clone(s[:n])
}

// put inserts into a list. One that grows gets room for a few more; at its end for many: whoever adds in order fills
// the node.
func put[T any](s []T, i int, x T) []T {
	if len(s) == cap(s) {
		room := len(s) + max(spareKeys, len(s)/4)
		if i == len(s) {
			room = max(2*len(s), 2*spareKeys)
		}
		more := make([]T, len(s), min(room, mostKeys))
		copy(more, s)
		s = more
	}
	return slices.Insert(s, i, x)
}

// remove removes a key that is there from an own node.
func remove[K cmp.Ordered, V any](n *branch[K, V], by *editor, k K) {
	if n.kids == nil {
		i, _ := find(n, k)
		n.keys, n.vals = slices.Delete(n.keys, i, i+1), slices.Delete(n.vals, i, i+1)
		return
	}
	i := child(n, k)
	kid := mineAt(n, by, i)
	remove(kid, by, k)
	switch {
	case len(kid.keys) == 0:
		n.keys, n.kids = slices.Delete(n.keys, i, i+1), slices.Delete(n.kids, i, i+1)
	case len(kid.keys) < leastKeys && len(n.kids) > 1:
		refill(n, by, i)
	}
}

// refill gives a child that has too little what its neighbour has, or half of both.
func refill[K cmp.Ordered, V any](n *branch[K, V], by *editor, i int) {
	i = min(i, len(n.kids)-2)
	l, r := mineAt(n, by, i), n.kids[i+1]
	l.keys, l.vals, l.kids = slices.Concat(l.keys, r.keys), join(l.vals, r.vals), join(l.kids, r.kids)
	if len(l.keys) <= mostKeys*3/4 {
		n.keys, n.kids = slices.Delete(n.keys, i+1, i+2), slices.Delete(n.kids, i+1, i+2)
		return
	}
	n.kids[i+1] = split(l, by, 0)
	n.keys[i+1] = n.kids[i+1].keys[0]
}

func join[T any](a, b []T) []T {
	if a == nil {
		return nil
	}
	return slices.Concat(a, b)
}

func each[K cmp.Ordered, V any](n *branch[K, V], yield func(K, V) bool) bool {
	for _, kid := range n.kids {
		if !each(kid, yield) {
			return false
		}
	}
	for i := range n.vals {
		if !yield(n.keys[i], n.vals[i]) {
			return false
		}
	}
	return true
}

func from[K cmp.Ordered, V any](n *branch[K, V], k K, yield func(K, V) bool) bool {
	if n.kids == nil {
		for i, _ := find(n, k); i < len(n.vals); i++ {
			if !yield(n.keys[i], n.vals[i]) {
				return false
			}
		}
		return true
	}
	at := child(n, k)
	if !from(n.kids[at], k, yield) {
		return false
	}
	for _, kid := range n.kids[at+1:] {
		if !each(kid, yield) {
			return false
		}
	}
	return true
}

func back[K cmp.Ordered, V any](n *branch[K, V], yield func(K, V) bool) bool {
	for _, kid := range slices.Backward(n.kids) {
		if !back(kid, yield) {
			return false
		}
	}
	for i := range slices.Backward(n.vals) {
		if !yield(n.keys[i], n.vals[i]) {
			return false
		}
	}
	return true
}

func backFrom[K cmp.Ordered, V any](n *branch[K, V], k K, yield func(K, V) bool) bool {
	if n.kids == nil {
		i, found := find(n, k)
		if !found {
			i--
		}
		for ; i >= 0; i-- {
			if !yield(n.keys[i], n.vals[i]) {
				return false
			}
		}
		return true
	}
	at := child(n, k)
	if !backFrom(n.kids[at], k, yield) {
		return false
	}
	for _, kid := range slices.Backward(n.kids[:at]) {
		if !back(kid, yield) {
			return false
		}
	}
	return true
}

// Below yields the pairs of a map whose key begins with prefix, in order.
func Below[K ~string, V any](m *Map[K, V], prefix K, yield func(K, V) bool) {
	From(m, prefix, func(k K, v V) bool {
		return strings.HasPrefix(string(k), string(prefix)) && yield(k, v)
	})
}
