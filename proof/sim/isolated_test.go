package sim

import (
	"errors"
	"testing"

	"github.com/rota-run/rota/proof/sim/model"
	"github.com/rota-run/rota/store"
)

// TestIsolatedCopy: a copy that was cut off shows what was, and what was written to it alone; a listing shows only what was.
func TestIsolatedCopy(t *testing.T) {
	t.Parallel()
	d := &disk{docs: model.Docs[owner]{{Doc: store.Doc{Key: "a", Version: "1", Value: []byte("was")}}}}
	d.isolate()
	d.docs = model.Docs[owner]{{Doc: store.Doc{Key: "a", Version: "2", Value: []byte("is")}}, {Doc: store.Doc{Key: "b", Version: "3"}}}
	if got, err := d.older.get("a"); err != nil || string(got.Value) != "was" || got.Version != "1" {
		t.Errorf("got %v, %v, want what was", got, err)
	}
	if got, err := d.older.get("b"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("got %v, %v, which came later", got, err)
	}
	d.strand(store.Doc{Key: "a", Version: "2", Value: []byte("over another version than it has")})
	if got, _ := d.older.get("a"); string(got.Value) != "was" {
		t.Errorf("got %s: a write over another version was taken", got.Value)
	}
	d.strand(store.Doc{Key: "a", Version: "1", Value: []byte("never acknowledged")})
	got, err := d.older.get("a")
	if err != nil || string(got.Value) != "never acknowledged" || got.Version == "1" || got.Version == "2" {
		t.Errorf("got %v, %v, want the write that only the copy has", got, err)
	}
	if l := d.older.list(""); len(l) != 1 || string(l[0].Value) != "was" {
		t.Errorf("listed %v, want what was", l)
	}
	d.isolate()
	if got, _ := d.older.get("a"); string(got.Value) != "is" {
		t.Errorf("got %s, want what there is: another copy was cut off", got.Value)
	}
}
