package cluster

import (
	"strings"

	"github.com/tidwall/btree"
)

// tree is a sorted map with value semantics: copying the struct shares the nodes, and the first change of a copy leaves
// the others as they were. Only a draft changes trees; seal makes the next change copy again.
type tree[K ~string, V any] struct {
	m     btree.Map[K, V]
	fresh bool // the nodes on changed paths are ours alone
}

func (t *tree[K, V]) edit() *btree.Map[K, V] {
	if !t.fresh {
		t.m = *t.m.Copy()
		t.fresh = true
	}
	return &t.m
}

func (t *tree[K, V]) seal() { t.fresh = false }

func (t *tree[K, V]) get(k K) (V, bool) { return t.m.Get(k) }

func (t *tree[K, V]) set(k K, v V) { t.edit().Set(k, v) }

func (t *tree[K, V]) remove(k K) { t.edit().Delete(k) }

func (t *tree[K, V]) len() int { return t.m.Len() }

// each yields the pairs in order of key.
func (t *tree[K, V]) each(yield func(K, V) bool) { t.m.Scan(yield) }

// below yields the pairs whose key begins with prefix, in order.
func (t *tree[K, V]) below(prefix K, yield func(K, V) bool) {
	t.m.Ascend(prefix, func(k K, v V) bool {
		return strings.HasPrefix(string(k), string(prefix)) && yield(k, v)
	})
}
