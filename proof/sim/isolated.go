package sim

import (
	"slices"

	"github.com/rota-run/rota/proof/sim/model"
	"github.com/rota-run/rota/store"
)

// isolated is a copy of the store that was cut off from the others and does not know it: it answers reads with what was, and with writes that only it has
// and that were never acknowledged.
type isolated struct {
	docs   model.Docs[owner]    // as they were when it was cut off
	writes map[string]store.Doc // that were never acknowledged
}

// isolate keeps what a copy shows that is cut off now.
func (d *disk) isolate() {
	d.older = isolated{docs: slices.Clone(d.docs), writes: map[string]store.Doc{}}
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
	return o.docs.Get(key)
}

// list is what a listing showed when the copy was cut off: writes that are not acknowledged are in none.
func (o isolated) list(prefix string) []store.Doc {
	return o.docs.List(prefix)
}
