package storetest

import (
	"testing"

	"github.com/rota-run/rota/store"
)

// docsEndedElsewhere holds for stores without sessions on which another process can end what a handle has written.
func docsEndedElsewhere[S store.Docs](t *testing.T, open Open[S]) {
	handle, ctx := open(t), deadline(t)
	a, b := handle(t), handle(t)
	endable, ok := any(a).(store.Endable)
	ender, ok2 := any(b).(store.SessionEnder)
	if !ok || !ok2 {
		return // it has no such ability
	}
	key := endable.EndKey("s/1", "s/none").Text
	v := put(t, ctx, a, "s/1", "x", "")
	v = put(t, ctx, a, "s/1", "renewed", v)
	kept := put(t, ctx, a, "s/2", "y", "")
	endBy(t, ctx, ender, key)
	_, err := b.Get(ctx, "s/1")
	wantError(t, "get after it was ended", err, store.ErrNotFound)
	wantDoc(t, ctx, b, "s/2", "y", kept)
	if _, err := a.Put(ctx, store.Doc{Key: "s/1", Value: []byte("late"), Version: v}); err == nil {
		t.Error("a late write was acknowledged")
	}
	_, err = b.Get(ctx, "s/1")
	wantError(t, "get after a late write", err, store.ErrNotFound)
	endBy(t, ctx, ender, key) // doubled
	wantDoc(t, ctx, b, "s/2", "y", kept)
	for _, bad := range []string{"", "0", "x", "{}", "00"} {
		if err := ender.EndSession(ctx, bad); err == nil {
			t.Errorf("the key %q ended something", bad)
		}
	}
}
