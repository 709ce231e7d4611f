package ordered

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestMap: it has what a map has, in order, and a copy keeps what it had whatever is done to the other.
func TestMap(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		type version struct {
			m    Map[string, int]
			want map[string]int
		}
		span := rapid.SampledFrom([]int{5, 60, 500}).Draw(t, "span")
		versions := []version{{want: map[string]int{}}}
		for round := range rapid.IntRange(1, 4).Draw(t, "rounds") {
			old := rapid.SampledFrom(versions).Draw(t, "from")
			now := version{old.m, maps.Clone(old.want)}
			inOrder, removes := rapid.Bool().Draw(t, "in order"), rapid.IntRange(0, 9).Draw(t, "removes")
			at := rapid.IntRange(0, span).Draw(t, "at")
			for i := range rapid.IntRange(0, 200).Draw(t, "changes") {
				if at++; !inOrder {
					at = (at*7919 + i*i) % span
				}
				key := fmt.Sprintf("%06d", at%span)
				if (at+i)%10 < removes {
					Remove(&now.m, key)
					delete(now.want, key)
				} else {
					Set(&now.m, key, round)
					now.want[key] = round
				}
			}
			checkMap(t, &now.m, now.want)
			Seal(&now.m)
			versions = append(versions, now)
		}
		for _, v := range versions {
			checkMap(t, &v.m, v.want)
		}
		last := &versions[len(versions)-1]
		keys := slices.Collect(maps.Keys(last.want))
		slices.Reverse(keys)
		for _, key := range keys {
			Remove(&last.m, key)
		}
		checkMap(t, &last.m, nil)
	})
}

func checkMap(t *rapid.T, tr *Map[string, int], want map[string]int) {
	t.Helper()
	sorted := slices.Sorted(maps.Keys(want))
	if Len(tr) != len(want) {
		t.Fatalf("it has %d keys, want %d", Len(tr), len(want))
	}
	var keys []string
	note := func(k string, v int) bool {
		if got, ok := Get(tr, k); !ok || got != v || want[k] != v {
			t.Fatalf("%s has %d and %d, want %d", k, v, got, want[k])
		}
		keys = append(keys, k)
		return true
	}
	is := func(what string, want []string) {
		t.Helper()
		if !slices.Equal(keys, want) {
			t.Fatalf("%s: got %v, want %v", what, keys, want)
		}
		keys = nil
	}
	Each(tr, note)
	is("in order", sorted)
	from := fmt.Sprintf("%06d", rapid.IntRange(-1, 501).Draw(t, "from"))
	i, found := slices.BinarySearch(sorted, from)
	From(tr, from, note)
	is("from "+from, sorted[i:])
	if found {
		i++
	}
	back := slices.Clone(sorted[:i])
	slices.Reverse(back)
	BackFrom(tr, from, note)
	is("back from "+from, back)
	back = slices.Clone(sorted)
	slices.Reverse(back)
	Back(tr, note)
	is("back", back)
	Below(tr, "0000", note)
	is("below a prefix", slices.DeleteFunc(slices.Clone(sorted), func(k string) bool { return k >= "0001" }))
	if len(sorted) > 0 {
		Each(tr, func(k string, _ int) bool { keys = append(keys, k); return false })
		is("the first", sorted[:1])
		if _, ok := Get(tr, sorted[0]+"x"); ok {
			t.Fatal("it has what was never set")
		}
	}
	if tr.top != nil {
		checkBranch(t, tr.top)
	}
}

// checkBranch checks the bounds of nodes, and returns how deep it is.
func checkBranch(t interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
}, n *branch[string, int]) (depth int) {
	t.Helper()
	if len(n.keys) > mostKeys || len(n.keys) != max(len(n.vals), len(n.kids)) {
		t.Fatalf("a node has %d keys, %d values, %d children", len(n.keys), len(n.vals), len(n.kids))
	}
	for i, kid := range n.kids {
		d := checkBranch(t, kid)
		if i > 0 && d != depth {
			t.Fatalf("children are %d and %d deep", depth, d)
		}
		depth = d
		if len(kid.keys) == 0 {
			t.Fatal("a node has no keys")
		}
	}
	return depth + 1
}

// TestEachCopyStays: whatever is removed from a map, each copy of it that was made before keeps all that it had, also
// where nodes are filled from their neighbours.
func TestEachCopyStays(t *testing.T) {
	t.Parallel()
	const n = 300
	for what, key := range map[string]func(i int) int{ // order-free: each by itself
		"from the beginning": func(i int) int { return i },
		"from the end":       func(i int) int { return n - 1 - i },
		"here and there":     func(i int) int { return i * 7919 % n },
	} {
		var m Map[int, int]
		for i := range n {
			Set(&m, i*7919%n, 0)
		}
		copies := []Map[int, int]{m}
		for i := range n {
			Seal(&m)
			Remove(&m, key(i))
			copies = append(copies, m)
		}
		for i := range copies {
			last, found := -1, 0
			Each(&copies[i], func(k, _ int) bool {
				if found++; k <= last {
					t.Fatalf("%s: in the copy after %d removals %d follows %d", what, i, k, last)
				}
				last = k
				return true
			})
			if found != n-i || Len(&copies[i]) != n-i {
				t.Fatalf("%s: the copy after %d removals has %d keys, and says %d", what, i, found, Len(&copies[i]))
			}
		}
	}
}

// TestKeepsNothingOld: a node that was split has no room, and nothing in its memory, for what is in the other half.
func TestKeepsNothingOld(t *testing.T) {
	t.Parallel()
	var tr Map[string, *int]
	for i := range 10 * mostKeys {
		Set(&tr, fmt.Sprintf("%06d", i), new(i))
	}
	if leaves := tr.top.kids; len(leaves) != 10 {
		t.Errorf("%d leaves, want 10 full ones", len(leaves))
	}
	Set(&tr, "000010x", new(0))
	for i, leaf := range tr.top.kids[:2] {
		if len(leaf.vals) > mostKeys/2+1 || cap(leaf.vals) > mostKeys/2+1+mostKeys/8 {
			t.Errorf("leaf %d has %d values and room for %d", i, len(leaf.vals), cap(leaf.vals))
		}
	}
}

// TestHasNoEmptyNodes: keys that were added in order at the end leave nodes of one key on each level, and these go with
// it.
func TestHasNoEmptyNodes(t *testing.T) {
	t.Parallel()
	for _, n := range []int{mostKeys, mostKeys * mostKeys, mostKeys * mostKeys * mostKeys} {
		var tr Map[string, int]
		for i := range n + 1 {
			Set(&tr, fmt.Sprintf("%06d", i), i)
		}
		checkBranch(t, tr.top)
		for i := n; i >= n-2*mostKeys && i >= 0; i-- {
			Remove(&tr, fmt.Sprintf("%06d", i))
			if Len(&tr) != i {
				t.Fatalf("it has %d keys, want %d", Len(&tr), i)
			}
			if i > 0 {
				checkBranch(t, tr.top)
			}
		}
		Set(&tr, "x", 1)
		if v, ok := Get(&tr, "x"); !ok || v != 1 {
			t.Error("a key is lost")
		}
	}
}
