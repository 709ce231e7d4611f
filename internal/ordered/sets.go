package ordered

import "cmp"

// Sets are sorted sets by key: as a map whose keys have both in them would be, without a key of its own for each
// element. Copies are as those of a [Map].
type Sets[K, E cmp.Ordered] struct {
	of Map[K, Map[E, struct{}]]
}

// Add adds elements to the set of a key.
func (s *Sets[K, E]) Add(key K, elements ...E) {
	m, _ := s.of.Get(key)
	for _, e := range elements {
		m.setBy(s.of.editor(), e, struct{}{})
	}
	s.of.Set(key, m)
}

// Remove removes an element from the set of a key, if it is there.
func (s *Sets[K, E]) Remove(key K, e E) {
	m, _ := s.of.Get(key)
	if m.removeBy(s.of.editor(), e); m.Len() == 0 {
		s.of.Remove(key)
		return
	}
	s.of.Set(key, m)
}

// RemoveAll removes all elements of the set of a key.
func (s *Sets[K, E]) RemoveAll(key K) { s.of.Remove(key) }

// Len is how many elements the set of a key has.
func (s *Sets[K, E]) Len(key K) int {
	m, _ := s.of.Get(key)
	return m.Len()
}

// Each yields the elements of a key in order.
func (s *Sets[K, E]) Each(key K, yield func(E) bool) {
	m, _ := s.of.Get(key)
	m.Each(func(e E, _ struct{}) bool { return yield(e) })
}

// All yields the elements of all keys, in order of both.
func (s *Sets[K, E]) All(yield func(K, E) bool) {
	s.of.Each(func(k K, m Map[E, struct{}]) bool {
		more := true
		m.Each(func(e E, _ struct{}) bool {
			more = yield(k, e)
			return more
		})
		return more
	})
}

// Keys yields the keys in order.
func (s *Sets[K, E]) Keys(yield func(K) bool) {
	s.of.Each(func(k K, _ Map[E, struct{}]) bool { return yield(k) })
}

// Seal is as that of a [Map].
func (s *Sets[K, E]) Seal() { s.of.Seal() }
