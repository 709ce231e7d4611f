package leader

import "github.com/tidwall/btree"

// tree is a sorted map with value semantics: states share the nodes, and a step changes copies.
type tree[V any] struct{ m btree.Map[string, V] }

func (t *tree[V]) get(k string) (V, bool) { return t.m.Get(k) }

func (t *tree[V]) set(k string, v V) {
	m := t.m
	t.m = *m.Copy()
	t.m.Set(k, v)
}

func (t *tree[V]) remove(k string) {
	m := t.m
	t.m = *m.Copy()
	t.m.Delete(k)
}

func (t *tree[V]) len() int { return t.m.Len() }

// each yields the pairs in order of key.
func (t *tree[V]) each(yield func(string, V) bool) { t.m.Scan(yield) }

// from yields the pairs from a key on.
func (t *tree[V]) from(k string, yield func(string, V) bool) { t.m.Ascend(k, yield) }
