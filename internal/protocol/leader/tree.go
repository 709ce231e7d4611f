package leader

import "github.com/rota-run/rota/internal/ordered"

// tree is a sorted map of which each copy stays as it is: states share the nodes, and a step changes copies.
type tree[V any] struct{ ordered.Map[string, V] }

func (t *tree[V]) set(k string, v V) {
	ordered.Seal(&t.Map)
	ordered.Set(&t.Map, k, v)
}

func (t *tree[V]) remove(k string) {
	ordered.Seal(&t.Map)
	ordered.Remove(&t.Map, k)
}

// below yields what has a prefix, as it is now: what is set or removed meanwhile does not show.
func (t *tree[V]) below(prefix string, yield func(string, V) bool) {
	ordered.Below(&t.Map, prefix, yield)
}
