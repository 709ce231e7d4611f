package storetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/rota-run/rota/store"
)

// DocsWithSessions is what Sessions needs.
type DocsWithSessions interface {
	store.Docs
	store.Sessions
}

// sessionTTL is long enough that no session expires, but the one whose renewal is tested.
const sessionTTL = time.Minute

// Sessions is the suite of store.Sessions.
func Sessions[S DocsWithSessions](t *testing.T, open Open[S]) {
	runRules(t, open, []rule[S]{
		{"documents go with their session", sessionClose[S]},
		{"documents go with their store", sessionStoreClose[S]},
		{"writes are conditional", sessionConditional[S]},
		{"the key is free afterwards", sessionReuse[S]},
		{"ended", sessionEnded[S]},
		{"hint when a session ends", sessionHint[S]},
		{"ended by another process", sessionEndedElsewhere[S]},
		{"cancelled before the call", sessionCancelled[S]},
		{"closed", sessionClosed[S]},
		{"an acknowledged put renews", sessionRenewed[S]},
	})
}

func openSession(t *testing.T, ctx context.Context, s store.Sessions) store.Session {
	t.Helper()
	session, err := s.OpenSession(ctx, sessionTTL)
	if err != nil {
		t.Fatalf("open session: %v", err)
	}
	select {
	case <-session.Done():
		t.Fatalf("a new session has ended")
	default:
	}
	return session
}

// wantGone waits until the document is gone.
func wantGone(t *testing.T, ctx context.Context, s store.Docs, key string) {
	t.Helper()
	for {
		_, err := s.Get(ctx, key)
		if errors.Is(err, store.ErrNotFound) {
			return
		}
		if err != nil {
			t.Fatalf("get %q, waiting for its end: %v", key, err)
		}
		time.Sleep(2 * time.Millisecond) // waits: between two looks at a condition; the deadline is that of ctx
	}
}

func wantDone(t *testing.T, s store.Session) {
	t.Helper()
	select {
	case <-s.Done():
	case <-time.After(patience):
		t.Fatalf("Done is not closed within %v", patience)
	}
}

func sessionClose[S DocsWithSessions](t *testing.T, open Open[S]) {
	handle, ctx := open(t), deadline(t)
	a, b := handle(t), handle(t)
	one, two := openSession(t, ctx, a), openSession(t, ctx, a)
	put(t, ctx, one, "s/1", "x", "")
	v2 := put(t, ctx, two, "s/2", "y", "")
	v3 := put(t, ctx, a, "s/3", "z", "")
	listed(t, ctx, b, "s/", []string{"s/1", "s/2", "s/3"})
	if err := one.Close(ctx); err != nil {
		t.Fatalf("close session: %v", err)
	}
	wantDone(t, one)
	_, err := b.Get(ctx, "s/1")
	wantError(t, "get after the session was closed", err, store.ErrNotFound)
	wantDoc(t, ctx, b, "s/2", "y", v2)
	wantDoc(t, ctx, b, "s/3", "z", v3)
	listed(t, ctx, b, "s/", []string{"s/2", "s/3"})
}

func sessionStoreClose[S DocsWithSessions](t *testing.T, open Open[S]) {
	handle, ctx := open(t), deadline(t)
	a, b := handle(t), handle(t)
	session := openSession(t, ctx, a)
	put(t, ctx, session, "s/1", "x", "")
	v := put(t, ctx, a, "s/2", "y", "")
	closeHandle(t, a)
	wantDone(t, session)
	wantGone(t, ctx, b, "s/1")
	wantDoc(t, ctx, b, "s/2", "y", v)
	listed(t, ctx, b, "s/", []string{"s/2"})
}

func sessionConditional[S DocsWithSessions](t *testing.T, open Open[S]) {
	handle, ctx := open(t), deadline(t)
	a, b := handle(t), handle(t)
	one, two := openSession(t, ctx, a), openSession(t, ctx, b)
	v1 := put(t, ctx, one, "s/1", "x", "")
	_, err := two.Put(ctx, store.Doc{Key: "s/1"})
	wantError(t, "second creation", err, store.ErrConflict)
	_, err = b.Put(ctx, store.Doc{Key: "s/1"})
	wantError(t, "creation without session", err, store.ErrConflict)
	v2 := put(t, ctx, one, "s/1", "y", v1)
	_, err = one.Put(ctx, store.Doc{Key: "s/1", Version: v1})
	wantError(t, "stale write", err, store.ErrConflict)
	wantDoc(t, ctx, b, "s/1", "y", v2)
	if err := b.Delete(ctx, "s/1", v2); err != nil {
		t.Fatalf("delete of another's session document: %v", err)
	}
	_, err = one.Put(ctx, store.Doc{Key: "s/1", Version: v2})
	wantError(t, "renewal of a deleted document", err, store.ErrConflict)
}

func sessionReuse[S DocsWithSessions](t *testing.T, open Open[S]) {
	handle, ctx := open(t), deadline(t)
	a, b := handle(t), handle(t)
	one := openSession(t, ctx, a)
	v1 := put(t, ctx, one, "s/1", "first", "")
	if err := one.Close(ctx); err != nil {
		t.Fatalf("close session: %v", err)
	}
	_, err := b.Put(ctx, store.Doc{Key: "s/1", Version: v1})
	wantError(t, "write at the version that is gone", err, store.ErrConflict)
	wantError(t, "delete of what is gone", b.Delete(ctx, "s/1", v1), store.ErrNotFound)
	two := openSession(t, ctx, b)
	v2 := put(t, ctx, two, "s/1", "second", "")
	if v1 == v2 {
		t.Fatalf("version %q came back with the next session", v1)
	}
	wantDoc(t, ctx, a, "s/1", "second", v2)
}

func sessionEnded[S DocsWithSessions](t *testing.T, open Open[S]) {
	s, ctx := single(t, open)
	session := openSession(t, ctx, s)
	for range 2 {
		if err := session.Close(ctx); err != nil {
			t.Fatalf("close session: %v", err)
		}
	}
	_, err := session.Put(ctx, store.Doc{Key: "s/1"})
	wantError(t, "put with an ended session", err, store.ErrSession)
	_, err = s.Get(ctx, "s/1")
	wantError(t, "get", err, store.ErrNotFound)
}

func sessionHint[S DocsWithSessions](t *testing.T, open Open[S]) {
	handle, ctx := open(t), deadline(t)
	a, b := handle(t), handle(t)
	watcher, ok := any(b).(store.Watcher)
	if !ok {
		t.Skipf("%T is no store.Watcher: there is nobody to give a hint to", b)
	}
	for _, end := range []func(store.Session) error{
		func(s store.Session) error { return s.Close(ctx) },
		func(store.Session) error { closeHandle(t, a); return nil },
	} {
		session := openSession(t, ctx, a)
		put(t, ctx, session, "s/1", "x", "")
		hints, err := watcher.Watch(ctx, "s/")
		if err != nil {
			t.Fatalf("watch: %v", err)
		}
		hint(t, hints, "the start")
		if err := end(session); err != nil {
			t.Fatalf("end session: %v", err)
		}
		for err == nil {
			hint(t, hints, "the end of a session")
			_, err = b.Get(ctx, "s/1")
		}
		wantError(t, "get after the hint", err, store.ErrNotFound)
	}
}

func sessionCancelled[S DocsWithSessions](t *testing.T, open Open[S]) {
	s, ctx := single(t, open)
	_, err := s.OpenSession(cancelled(), sessionTTL)
	wantError(t, "open session", err, stoppedError{})
	session := openSession(t, ctx, s)
	_, err = session.Put(cancelled(), store.Doc{Key: "s/1"})
	wantError(t, "put", err, stoppedError{})
	_, err = s.Get(ctx, "s/1")
	wantError(t, "get", err, store.ErrNotFound)
}

func sessionClosed[S DocsWithSessions](t *testing.T, open Open[S]) {
	s, ctx := single(t, open)
	session := openSession(t, ctx, s)
	closeHandle(t, s)
	_, err := s.OpenSession(ctx, sessionTTL)
	wantError(t, "open session", err, store.ErrClosed)
	_, err = session.Put(ctx, store.Doc{Key: "s/1"})
	wantError(t, "put", err, store.ErrSession)
	if err := session.Close(ctx); err != nil {
		t.Fatalf("close the session of a closed store: %v", err)
	}
}
