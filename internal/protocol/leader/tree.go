package leader

import "github.com/rota-run/rota/internal/ordered"

// tree is a sorted map of which each copy stays as it is: states share the nodes, and a step changes copies.
type tree[V any] struct{ of ordered.Map[string, V] }

func (t *tree[V]) Len() int { return ordered.Len(&t.of) }

func (t *tree[V]) Get(k string) (V, bool) { return ordered.Get(&t.of, k) }

// Set changes a tree of which there is no copy yet.
func (t *tree[V]) Set(k string, v V) { ordered.Set(&t.of, k, v) }

// Each yields the pairs in order of key; walks of the proof call it by its name.
func (t *tree[V]) Each(yield func(string, V) bool) { ordered.Each(&t.of, yield) }

func (t *tree[V]) set(k string, v V) {
	ordered.Seal(&t.of)
	ordered.Set(&t.of, k, v)
}

func (t *tree[V]) remove(k string) {
	ordered.Seal(&t.of)
	ordered.Remove(&t.of, k)
}

// below yields what has a prefix, as it is now: what is set or removed meanwhile does not show.
func (t *tree[V]) below(prefix string, yield func(string, V) bool) {
	ordered.Below(&t.of, prefix, yield)
}
