package ordered

import "cmp"

// Sets are sorted sets by key: as a map whose keys have both in them would be, without a key of its own for each
// element. Copies are as those of a [Map].
type Sets[K, E cmp.Ordered] struct {
	of Map[K, Map[E, struct{}]]
}

// Add adds elements to the set of a key.
func Add[K, E cmp.Ordered](s *Sets[K, E], key K, elements ...E) {
	m, _ := Get(&s.of, key)
	for _, e := range elements {
		setBy(&m, editorOf(&s.of), e, struct{}{})
	}
	Set(&s.of, key, m)
}

// Drop removes an element from the set of a key, if it is there.
func Drop[K, E cmp.Ordered](s *Sets[K, E], key K, e E) {
	m, _ := Get(&s.of, key)
	if removeBy(&m, editorOf(&s.of), e); Len(&m) == 0 {
		Remove(&s.of, key)
		return
	}
	Set(&s.of, key, m)
}

// DropAll removes all elements of the set of a key.
func DropAll[K, E cmp.Ordered](s *Sets[K, E], key K) { Remove(&s.of, key) }

// Count is how many elements the set of a key has.
func Count[K, E cmp.Ordered](s *Sets[K, E], key K) int {
	m, _ := Get(&s.of, key)
	return Len(&m)
}

// EachOf yields the elements of a key in order.
func EachOf[K, E cmp.Ordered](s *Sets[K, E], key K, yield func(E) bool) {
	m, _ := Get(&s.of, key)
	Each(&m, func(e E, _ struct{}) bool { return yield(e) })
}

// Pairs yields the elements of all keys, in order of both.
func Pairs[K, E cmp.Ordered](s *Sets[K, E], yield func(K, E) bool) {
	Each(&s.of, func(k K, m Map[E, struct{}]) bool {
		more := true
		Each(&m, func(e E, _ struct{}) bool {
			more = yield(k, e)
			return more
		})
		return more
	})
}

// Keys yields the keys in order.
func Keys[K, E cmp.Ordered](s *Sets[K, E], yield func(K) bool) {
	Each(&s.of, func(k K, _ Map[E, struct{}]) bool { return yield(k) })
}

// SealSets is as that of a [Map].
func SealSets[K, E cmp.Ordered](s *Sets[K, E]) { Seal(&s.of) }
