package model

import (
	"slices"
	"sort"
	"strings"

	"github.com/rota-run/rota/store"
)

// Doc is a document, and whose it is.
type Doc[O any] struct {
	store.Doc
	Of O
}

// Docs are documents, sorted by key.
type Docs[O any] []Doc[O]

// Find returns where a document is, or would be.
func (d Docs[O]) Find(key string) (int, bool) {
	return slices.BinarySearchFunc(d, key, func(one Doc[O], key string) int { return strings.Compare(one.Key, key) })
}

// Get returns a document, or [store.ErrNotFound].
func (d Docs[O]) Get(key string) (store.Doc, error) {
	i, ok := d.Find(key)
	if !ok {
		return store.Doc{}, store.ErrNotFound
	}
	return d[i].Doc, nil
}

// List returns those below a prefix.
func (d Docs[O]) List(prefix string) []store.Doc {
	i, _ := d.Find(prefix)
	n := sort.Search(len(d)-i, func(n int) bool { return !strings.HasPrefix(d[i+n].Key, prefix) })
	out := make([]store.Doc, n)
	for k, one := range d[i : i+n] {
		out[k] = one.Doc
	}
	return out
}

// Over returns where a write of a document goes, and whether there is one; or [store.ErrConflict].
func (d Docs[O]) Over(doc store.Doc) (i int, there bool, err error) {
	i, there = d.Find(doc.Key)
	if there != (doc.Version != "") || there && d[i].Version != doc.Version {
		err = store.ErrConflict
	}
	return i, there, err
}

// Stored are the documents with another one, or with another text of it, where [Docs.Over] says.
func (d Docs[O]) Stored(i int, there bool, doc Doc[O]) Docs[O] {
	if !there {
		return slices.Insert(d, i, doc)
	}
	d[i] = doc
	return d
}

// At returns where a document of a version is, or why it is not there.
func (d Docs[O]) At(key string, v store.Version) (int, error) {
	i, ok := d.Find(key)
	switch {
	case !ok:
		return 0, store.ErrNotFound
	case d[i].Version != v:
		return 0, store.ErrConflict
	}
	return i, nil
}
