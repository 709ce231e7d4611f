package storetest

import (
	"context"
	"testing"

	"github.com/rota-run/rota/store"
)

// sessionEndedElsewhere holds for stores whose sessions another process can end by a key.
func sessionEndedElsewhere[S DocsWithSessions](t *testing.T, open Open[S]) {
	a, b, ctx := pair(t, open)
	one := openSession(t, ctx, a)
	if endable, ok := one.(store.EndableSession); ok { // drivers assert it; another one is one that a test has wrapped
		later := func() putter { return openSession(t, ctx, a) }
		endedElsewhere(t, ctx, b, endable.EndKey, one, later(), later)
	}
}

// docsEndedElsewhere holds for stores without sessions on which another process can end what a handle has written.
func docsEndedElsewhere[S store.Docs](t *testing.T, open Open[S]) {
	a, b, ctx := pair(t, open)
	if endable, ok := any(a).(store.Endable); ok {
		endedElsewhere(t, ctx, b, endable.EndKey, a, a, nil)
	}
}

// endedElsewhere has another process end what one writes: it is gone, and comes to nothing where it is late; what other
// writes stays. A key that comes late does not end what is written later.
func endedElsewhere(t *testing.T, ctx context.Context, b store.Docs, endKey func(...string) store.EndKey, one, other putter, later func() putter) {
	t.Helper()
	ender, ok := b.(store.SessionEnder)
	if !ok {
		return // it has no such ability
	}
	key := endKey("s/1", "s/none").Text
	v := put(t, ctx, one, "s/1", "x", "")
	v = put(t, ctx, one, "s/1", "renewed", v)
	kept := put(t, ctx, other, "s/2", "y", "")
	endBy(t, ctx, ender, key)
	wantError(t, "get after the end", errOf(b.Get(ctx, "s/1")), store.ErrNotFound)
	wantDoc(t, ctx, b, "s/2", "y", kept)
	if _, err := one.Put(ctx, store.Doc{Key: "s/1", Value: []byte("late"), Version: v}); err == nil {
		t.Error("a late write was acknowledged")
	}
	wantError(t, "get after a late write", errOf(b.Get(ctx, "s/1")), store.ErrNotFound)
	if later != nil {
		next := later()
		v = put(t, ctx, next, "s/1", "z", "")
		endBy(t, ctx, ender, key) // late
		wantDoc(t, ctx, b, "s/1", "z", v)
		put(t, ctx, next, "s/1", "zz", v)
	}
	endBy(t, ctx, ender, key) // doubled
	for _, bad := range []string{"", "0", "x", "{}", "00"} {
		if err := ender.EndSession(ctx, bad); err == nil {
			t.Errorf("the key %q ended something", bad)
		}
	}
	wantDoc(t, ctx, b, "s/2", "y", kept)
}

func endBy(t *testing.T, ctx context.Context, by store.SessionEnder, key string) {
	t.Helper()
	succeed(t, "end a session of another handle", by.EndSession(ctx, key))
}
