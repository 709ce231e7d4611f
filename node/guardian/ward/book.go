package ward

import "slices"

// Held is a session that a guardian shall end: its number, which no other session of the process has, and its key.
type Held[K any] struct {
	ID  uint64
	Key K
}

// Book has what a process has given into care. It is a value: each method returns another one.
type Book[K any] struct {
	next uint64
	held []Held[K]
}

// Guard takes a session in.
func (b Book[K]) Guard(key K) (Book[K], Held[K]) {
	b.next++
	h := Held[K]{b.next, key}
	b.held = append(slices.Clip(b.held), h)
	return b, h
}

// Release drops a session that the process ends itself.
func (b Book[K]) Release(id uint64) Book[K] {
	b.held = without(b.held, id)
	return b
}

// Held is what a new guardian must hear of.
func (b Book[K]) Held() []Held[K] { return b.held }

func without[K any](all []Held[K], id uint64) []Held[K] {
	return slices.DeleteFunc(slices.Clone(all), func(h Held[K]) bool { return h.ID == id })
}
