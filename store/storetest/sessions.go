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
		{"hint when a session ends", sessionHint[S]},
		{"ended by another process", sessionEndedElsewhere[S]},
		{"cancelled before the call", sessionCancelled[S]},
		{"an acknowledged put renews", sessionRenewed[S]},
	})
}

func openSession(t *testing.T, ctx context.Context, s store.Sessions) store.Session {
	t.Helper()
	session, err := s.OpenSession(ctx, sessionTTL)
	succeed(t, "open session", err)
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
	a, b, ctx := pair(t, open)
	one, two := openSession(t, ctx, a), openSession(t, ctx, a)
	v1 := put(t, ctx, one, "s/1", "x", "")
	v2 := put(t, ctx, two, "s/2", "y", "")
	v3 := put(t, ctx, a, "s/3", "z", "")
	listed(t, ctx, b, "s/", []string{"s/1", "s/2", "s/3"})
	for range 2 {
		succeed(t, "close session", one.Close(ctx))
	}
	wantDone(t, one)
	wantError(t, "put with an ended session", errOf(one.Put(ctx, store.Doc{Key: "s/4"})), store.ErrSession)
	for _, key := range []string{"s/1", "s/4"} {
		wantError(t, "get after the session was closed", errOf(b.Get(ctx, key)), store.ErrNotFound)
	}
	wantDoc(t, ctx, b, "s/2", "y", v2)
	wantDoc(t, ctx, b, "s/3", "z", v3)
	listed(t, ctx, b, "s/", []string{"s/2", "s/3"})
	wantError(t, "write at the version that is gone",
		errOf(b.Put(ctx, store.Doc{Key: "s/1", Version: v1})), store.ErrConflict)
	wantError(t, "delete of what is gone", b.Delete(ctx, "s/1", v1), store.ErrNotFound)
	again := put(t, ctx, openSession(t, ctx, b), "s/1", "second", "")
	if again == v1 {
		t.Fatalf("version %q came back with the next session", v1)
	}
	wantDoc(t, ctx, a, "s/1", "second", again)
}

func sessionStoreClose[S DocsWithSessions](t *testing.T, open Open[S]) {
	a, b, ctx := pair(t, open)
	session := openSession(t, ctx, a)
	put(t, ctx, session, "s/1", "x", "")
	v := put(t, ctx, a, "s/2", "y", "")
	closeHandle(t, a)
	wantDone(t, session)
	wantGone(t, ctx, b, "s/1")
	wantDoc(t, ctx, b, "s/2", "y", v)
	listed(t, ctx, b, "s/", []string{"s/2"})
	wantError(t, "open session", errOf(a.OpenSession(ctx, sessionTTL)), store.ErrClosed)
	wantError(t, "put", errOf(session.Put(ctx, store.Doc{Key: "s/1"})), store.ErrSession)
	succeed(t, "close the session of a closed store", session.Close(ctx))
}

func sessionConditional[S DocsWithSessions](t *testing.T, open Open[S]) {
	a, b, ctx := pair(t, open)
	one, two := openSession(t, ctx, a), openSession(t, ctx, b)
	v1 := put(t, ctx, one, "s/1", "x", "")
	wantError(t, "second creation", errOf(two.Put(ctx, store.Doc{Key: "s/1"})), store.ErrConflict)
	wantError(t, "creation without session", errOf(b.Put(ctx, store.Doc{Key: "s/1"})), store.ErrConflict)
	v2 := put(t, ctx, one, "s/1", "y", v1)
	wantError(t, "stale write", errOf(one.Put(ctx, store.Doc{Key: "s/1", Version: v1})), store.ErrConflict)
	wantDoc(t, ctx, b, "s/1", "y", v2)
	succeed(t, "delete of another's session document", b.Delete(ctx, "s/1", v2))
	wantError(t, "renewal of a deleted document",
		errOf(one.Put(ctx, store.Doc{Key: "s/1", Version: v2})), store.ErrConflict)
}

func sessionHint[S DocsWithSessions](t *testing.T, open Open[S]) {
	a, b, ctx := pair(t, open)
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
		succeed(t, "watch", err)
		hint(t, hints, "the start")
		succeed(t, "end session", end(session))
		for err == nil {
			hint(t, hints, "the end of a session")
			_, err = b.Get(ctx, "s/1")
		}
		wantError(t, "get after the hint", err, store.ErrNotFound)
	}
}

func sessionCancelled[S DocsWithSessions](t *testing.T, open Open[S]) {
	s, ctx := single(t, open)
	wantError(t, "open session", errOf(s.OpenSession(cancelled(), sessionTTL)), stoppedError{})
	session := openSession(t, ctx, s)
	wantError(t, "put", errOf(session.Put(cancelled(), store.Doc{Key: "s/1"})), stoppedError{})
	wantError(t, "get", errOf(s.Get(ctx, "s/1")), store.ErrNotFound)
}
