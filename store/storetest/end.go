package storetest

import (
	"context"
	"testing"

	"github.com/rota-run/rota/store"
)

// sessionEndedElsewhere holds for stores whose sessions another process can end by a key.
func sessionEndedElsewhere[S DocsWithSessions](t *testing.T, open Open[S]) {
	handle, ctx := open(t), deadline(t)
	a, b := handle(t), handle(t)
	ender, ok := any(b).(store.SessionEnder)
	if !ok {
		return // it has no such ability
	}
	one, other := openSession(t, ctx, a), openSession(t, ctx, a)
	endable, ok := one.(store.EndableSession)
	if !ok {
		return // drivers assert it; this is one that a test has wrapped
	}
	key := endable.EndKey("s/1", "s/none").Text
	v := putWith(t, ctx, one, "s/1", "x", "")
	v = putWith(t, ctx, one, "s/1", "renewed", v)
	kept := putWith(t, ctx, other, "s/2", "y", "")
	endBy(t, ctx, ender, key)
	_, err := b.Get(ctx, "s/1")
	wantError(t, "get after the session was ended", err, store.ErrNotFound)
	wantDoc(t, ctx, b, "s/2", "y", kept)
	if _, err := one.Put(ctx, store.Doc{Key: "s/1", Value: []byte("late"), Version: v}); err == nil {
		t.Error("a write of a session that was ended was acknowledged")
	}
	_, err = b.Get(ctx, "s/1")
	wantError(t, "get after a late write", err, store.ErrNotFound)

	later := openSession(t, ctx, a)
	next := putWith(t, ctx, later, "s/1", "z", "")
	endBy(t, ctx, ender, key) // late, and doubled
	wantDoc(t, ctx, b, "s/1", "z", next)
	if next = putWith(t, ctx, later, "s/1", "zz", next); next == "" {
		t.Error("no version")
	}
	for _, bad := range []string{"", "0", "x", "{}", "00"} {
		if err := ender.EndSession(ctx, bad); err == nil {
			t.Errorf("the key %q ended something", bad)
		}
	}
	wantDoc(t, ctx, b, "s/1", "zz", next)
	wantDoc(t, ctx, b, "s/2", "y", kept)
}

func endBy(t *testing.T, ctx context.Context, by store.SessionEnder, key string) {
	t.Helper()
	if err := by.EndSession(ctx, key); err != nil {
		t.Fatalf("end a session of another handle: %v", err)
	}
}
