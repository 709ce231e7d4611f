package sim

import (
	"slices"
	"strings"

	"github.com/rota-run/rota/store"
)

// isolated is a copy of the store that was cut off from the others and does not know it: it answers reads with what was, and with writes that only it has
// and that were never acknowledged.
type isolated struct {
	docs   []store.Doc          // as they were when it was cut off, sorted by key
	writes map[string]store.Doc // that were never acknowledged
}

// isolate keeps what a copy shows that is cut off now.
func (d *disk) isolate() {
	d.older = isolated{docs: d.docs.List(""), writes: map[string]store.Doc{}}
}

// strand lets a write that nobody acknowledges reach the isolated copy alone.
func (d *disk) strand(doc store.Doc) {
	old, _ := d.older.get(doc.Key)
	if old.Version != doc.Version {
		return // for this copy too somebody else was quicker
	}
	doc.Version = "isolated-" + doc.Version
	d.older.writes[doc.Key] = doc
}

func (o isolated) get(key string) (store.Doc, error) {
	if doc, ok := o.writes[key]; ok {
		return doc, nil
	}
	i, ok := slices.BinarySearchFunc(o.docs, key, func(d store.Doc, key string) int { return strings.Compare(d.Key, key) })
	if !ok {
		return store.Doc{}, store.ErrNotFound
	}
	return o.docs[i], nil
}

// list is what a listing showed when the copy was cut off: writes that are not acknowledged are in none.
func (o isolated) list(prefix string) []store.Doc {
	return slices.DeleteFunc(slices.Clone(o.docs), func(d store.Doc) bool { return !strings.HasPrefix(d.Key, prefix) })
}
