package nats_test

import (
	"context"
	"errors"
	. "github.com/rota-run/rota/store/nats"
	"testing"
	"time"

	"github.com/rota-run/rota/store"
)

// eventually asks again and again, until patience ends.
func eventually(t *testing.T, what string, ask func() bool) {
	t.Helper()
	end := time.Now().Add(patience)
	for !ask() {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", patience, what)
		}
		time.Sleep(5 * time.Millisecond) // waits: servers send no signals; the end is bounded by patience
	}
}

func mustPut(t *testing.T, s interface {
	Put(context.Context, store.Doc) (store.Version, error)
}, key, value string, v store.Version) store.Version {
	t.Helper()
	got, err := s.Put(deadline(t), store.Doc{Key: key, Value: []byte(value), Version: v})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func wantValue(t *testing.T, s *Store, key, value string, v store.Version) {
	t.Helper()
	d, err := s.Get(deadline(t), key)
	if err != nil || string(d.Value) != value || d.Version != v {
		t.Fatalf("get %q = %q at %q, %v; want %q at %q", key, d.Value, d.Version, err, value, v)
	}
}

// gone asks whether there is no such document; false also where nobody answers.
func gone(s *Store, key string) func() bool {
	return func() bool {
		_, err := s.Get(context.Background(), key)
		return errors.Is(err, store.ErrNotFound)
	}
}

// there asks until it is told.
func there(t *testing.T, s *Store, key string) (is bool) {
	t.Helper()
	eventually(t, "somebody tells whether "+key+" is there", func() bool {
		_, err := s.Get(context.Background(), key)
		is = err == nil
		return is || errors.Is(err, store.ErrNotFound)
	})
	return is
}

// newSession opens a session whose ttl is a whole second or more.
func newSession(t *testing.T, s *Store, ttl time.Duration) *session {
	t.Helper()
	owner, err := s.OpenSession(deadline(t), ttl)
	if err != nil {
		t.Fatal(err)
	}
	return owner.(*session)
}

func TestLimitIsNeverShorter(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		ttl      time.Duration
		replicas int
		want     string
	}{
		{time.Millisecond, 1, "1s"},
		{time.Second, 1, "1s"},
		{time.Second + 1, 1, "2s"},
		{2500 * time.Millisecond, 1, "3s"},
		{2500 * time.Millisecond, 3, "4s"},
		{time.Minute, 3, "61s"},
	} {
		if got := limit(c.ttl, c.replicas); got != c.want {
			t.Errorf("%v with %d replicas: %s, want %s", c.ttl, c.replicas, got, c.want)
		}
	}
}

// TestSilentProcess takes the connection away from a session, as if its process were frozen.
func TestSilentProcess(t *testing.T) {
	t.Parallel()
	open := fresh(t)
	a, b := open(t), open(t)
	const ttl = 3 * time.Second
	owner := newSession(t, a, ttl)
	start := time.Now()
	v := mustPut(t, owner, "s/1", "x", "")
	hints, err := b.Watch(deadline(t), "s/")
	if err != nil {
		t.Fatal(err)
	}
	<-hints
	a.conn.Close() // from here on nothing is renewed
	for there(t, b, "s/1") {
		select {
		case <-hints:
		case <-time.After(patience):
			t.Fatal("no hint that the session's document has vanished")
		}
	}
	if held := time.Since(start); held < ttl {
		t.Fatalf("the document vanished %v after the Put, before its ttl of %v", held, ttl)
	} else {
		t.Logf("the document vanished %v after the Put, with a ttl of %v", held.Round(time.Millisecond), ttl)
	}
	<-owner.Done() // not later than the document vanished, apart from scheduling
	if _, err := owner.Put(deadline(t), store.Doc{Key: "s/1", Version: v}); !errors.Is(err, store.ErrSession) {
		t.Fatalf("put after the end: %v, want ErrSession", err)
	}
	if docs, err := b.List(deadline(t), "s/"); err != nil || len(docs) != 0 {
		t.Fatalf("list: %v, %v; want nothing", docs, err)
	}
	next := mustPut(t, newSession(t, b, time.Minute), "s/1", "y", "")
	wantValue(t, b, "s/1", "y", next)
}

// TestSilentUser says nothing for several times the ttl: the session lives on, and versions stay what they were.
func TestSilentUser(t *testing.T) {
	t.Parallel()
	open := fresh(t)
	a, b := open(t), open(t)
	owner := newSession(t, a, 10*time.Second) // renewed at the half; a busy machine does not stand still for the other
	v1 := mustPut(t, owner, "s/1", "x", "")
	v2 := mustPut(t, owner, "s/2", "y", "")
	first, err := b.newest(deadline(t), b.names.doc("s/1"))
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the document was repeated several times", func() bool {
		m, err := b.newest(deadline(t), b.names.doc("s/1"))
		if err != nil || m.version() != v1 {
			t.Fatalf("version %q, %v; want %q", m.version(), err, v1)
		}
		return m.seq >= first.seq+6
	})
	wantValue(t, b, "s/1", "x", v1)
	wantValue(t, b, "s/2", "y", v2)
	v3 := mustPut(t, owner, "s/1", "z", v1)
	wantValue(t, b, "s/1", "z", v3)
	if _, err := owner.Put(deadline(t), store.Doc{Key: "s/1", Version: v1}); !errors.Is(err, store.ErrConflict) {
		t.Fatalf("put at an old version: %v, want ErrConflict", err)
	}
	if _, err := b.Put(deadline(t), store.Doc{Key: "s/1", Version: v1}); !errors.Is(err, store.ErrConflict) {
		t.Fatalf("put of somebody else at an old version: %v, want ErrConflict", err)
	}
	if err := b.Delete(deadline(t), "s/2", v2); err != nil {
		t.Fatalf("delete of a repeated document at the version that Put returned: %v", err)
	}
	eventually(t, "the session notices that its document was deleted", func() bool {
		owner.turn <- struct{}{}
		defer owner.give()
		return len(owner.docs) == 1
	})
	wantValue(t, b, "s/1", "z", v3)
	if there(t, b, "s/2") {
		t.Fatal("the session wrote a document again that was deleted")
	}
}

// TestTakenOverDocumentIsLeftAlone has another write over a session's document: the session neither repeats nor removes that.
func TestTakenOverDocumentIsLeftAlone(t *testing.T) {
	t.Parallel()
	open := fresh(t)
	a, b := open(t), open(t)
	owner := newSession(t, a, time.Minute)
	v1 := mustPut(t, owner, "s/1", "x", "")
	v2 := mustPut(t, b, "s/1", "theirs", v1)
	mustPut(t, owner, "s/2", "y", "") // repeats s/1 first
	wantValue(t, b, "s/1", "theirs", v2)
	if err := owner.Close(deadline(t)); err != nil {
		t.Fatal(err)
	}
	wantValue(t, b, "s/1", "theirs", v2)
	if there(t, b, "s/2") {
		t.Fatal("the session's own document stayed")
	}
}

// TestPutRenewsAll writes one document of a session so often that another one, written once, would have vanished.
func TestPutRenewsAll(t *testing.T) {
	t.Parallel()
	b := bucket()
	a := openWith(t, Options{Bucket: b, noKeeper: true})
	const ttl = 8 * time.Second // much more than a busy machine stands still
	owner := newSession(t, a, ttl)
	still := mustPut(t, owner, "s/still", "x", "")
	start := time.Now()
	for v := store.Version(""); time.Since(start) < ttl+2*time.Second; { // the server removes it within a second
		v = mustPut(t, owner, "s/busy", "y", v)
		select {
		case <-owner.Done():
			t.Fatal("the session has ended, though it was renewed")
		case <-time.After(100 * time.Millisecond): // the rhythm of the user, not a wait for something
		}
	}
	wantValue(t, a, "s/still", "x", still)
}

// TestExpiredAtTheServerAlone lets a document vanish while the session still trusts itself, as after the suspension of a machine.
func TestExpiredAtTheServerAlone(t *testing.T) {
	t.Parallel()
	s := openWith(t, Options{Bucket: bucket(), noKeeper: true})
	owner := newSession(t, s, time.Hour)
	owner.turn <- struct{}{}
	owner.limit = limit(3*time.Second, 1) // as if its clock stood still meanwhile
	owner.give()
	v := mustPut(t, owner, "s/1", "x", "")
	eventually(t, "the server removes the document", gone(s, "s/1"))
	if _, err := owner.Put(deadline(t), store.Doc{Key: "s/1", Version: v}); !errors.Is(err, store.ErrConflict) {
		t.Fatalf("put of the vanished document: %v, want ErrConflict", err)
	}
	if _, err := owner.Put(deadline(t), store.Doc{Key: "s/2"}); !errors.Is(err, store.ErrSession) {
		t.Fatalf("put of another document: %v, want ErrSession", err)
	}
	if there(t, s, "s/2") {
		t.Fatal("a session that had ended has a document")
	}
}
