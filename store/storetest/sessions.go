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
func Sessions[S DocsWithSessions](t *testing.T, open Open[S]) { runRules(t, open, sessionRules...) }

func (t *test) session(s store.Sessions) store.Session {
	t.Helper()
	session, err := s.OpenSession(t.ctx, sessionTTL)
	t.succeed("open session", err)
	if over(session) {
		t.Fatalf("a new session has ended")
	}
	return session
}

// over tells whether the owner of a session knows of its end.
func over(s store.Session) bool {
	select {
	case <-s.Done():
		return true
	default:
		return false
	}
}

// gone waits until the document is gone.
func (t *test) gone(s store.Docs, key string) {
	t.Helper()
	t.await(key+" is gone", func() bool {
		_, err := s.Get(t.ctx, key)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			t.Fatalf("get %q, waiting for its end: %v", key, err)
		}
		return err != nil
	})
}

var sessionRules = []rule[DocsWithSessions]{
	{"documents go with their session", func(t *test, open func() DocsWithSessions) {
		a, b := open(), open()
		one, two := t.session(a), t.session(a)
		v1, v2, v3 := t.put(one, "s/1", "x", ""), t.put(two, "s/2", "y", ""), t.put(a, "s/3", "z", "")
		t.listed(b, "s/", "s/1", "s/2", "s/3")
		for range 2 {
			t.succeed("close session", one.Close(t.ctx))
		}
		t.ended(one.Done())
		t.fails("put with an ended session", errOf(one.Put(t.ctx, store.Doc{Key: "s/4"})), store.ErrSession)
		t.none(b, "s/1", "the session was closed")
		t.none(b, "s/4", "the session was closed")
		t.doc(b, "s/2", "y", v2)
		t.doc(b, "s/3", "z", v3)
		t.listed(b, "s/", "s/2", "s/3")
		t.conflict("write at the version that is gone", b, "s/1", v1)
		t.fails("delete of what is gone", b.Delete(t.ctx, "s/1", v1), store.ErrNotFound)
		again := t.put(t.session(b), "s/1", "second", "")
		if again == v1 {
			t.Fatalf("version %q came back with the next session", v1)
		}
		t.doc(a, "s/1", "second", again)
	}},
	{"documents go with their store", func(t *test, open func() DocsWithSessions) {
		a, b := open(), open()
		session := t.session(a)
		t.put(session, "s/1", "x", "")
		v := t.put(a, "s/2", "y", "")
		t.close(a)
		t.ended(session.Done())
		t.gone(b, "s/1")
		t.doc(b, "s/2", "y", v)
		t.listed(b, "s/", "s/2")
		t.fails("open session", errOf(a.OpenSession(t.ctx, sessionTTL)), store.ErrClosed)
		t.fails("put", errOf(session.Put(t.ctx, store.Doc{Key: "s/1"})), store.ErrSession)
		t.succeed("close the session of a closed store", session.Close(t.ctx))
	}},
	{"writes are conditional", func(t *test, open func() DocsWithSessions) {
		a, b := open(), open()
		one, two := t.session(a), t.session(b)
		v1 := t.put(one, "s/1", "x", "")
		t.conflict("second creation", two, "s/1", "")
		t.conflict("creation without session", b, "s/1", "")
		v2 := t.put(one, "s/1", "y", v1)
		t.conflict("stale write", one, "s/1", v1)
		t.doc(b, "s/1", "y", v2)
		t.succeed("delete of another's session document", b.Delete(t.ctx, "s/1", v2))
		t.conflict("renewal of a deleted document", one, "s/1", v2)
	}},
	{"hint when a session ends", func(t *test, open func() DocsWithSessions) {
		a, b := open(), open()
		watcher, ok := b.(store.Watcher)
		if !ok {
			t.Skipf("%T is no store.Watcher: there is nobody to give a hint to", b)
		}
		for _, end := range []func(store.Session) error{
			func(s store.Session) error { return s.Close(t.ctx) },
			func(store.Session) error { t.close(a); return nil },
		} {
			session := t.session(a)
			t.put(session, "s/1", "x", "")
			hints, err := watcher.Watch(t.ctx, "s/")
			t.succeed("watch", err)
			t.hint(hints, "the start")
			t.succeed("end session", end(session))
			for err == nil {
				t.hint(hints, "the end of a session")
				_, err = b.Get(t.ctx, "s/1")
			}
			t.fails("get after the hint", err, store.ErrNotFound)
		}
	}},
	{"ended by another process", func(t *test, open func() DocsWithSessions) {
		a, b := open(), open()
		one := t.session(a)
		if endable, ok := one.(store.EndableSession); ok { // drivers assert it; another one is one that a test has wrapped
			later := func() putter { return t.session(a) }
			endedElsewhere(t, b, endable.EndKey, one, later(), later)
		}
	}},
	{"cancelled before the call", func(t *test, open func() DocsWithSessions) {
		s := open()
		t.fails("open session", errOf(s.OpenSession(cancelled(), sessionTTL)), stoppedError{})
		t.fails("put", errOf(t.session(s).Put(cancelled(), store.Doc{Key: "s/1"})), stoppedError{})
		t.none(s, "s/1", "a put that was cancelled before")
	}},
	{"an acknowledged put renews", sessionRenewed},
}

// endedElsewhere has another process end what one writes: it is gone, and comes to nothing where it is late; what other
// writes stays. A key that comes late does not end what is written later.
func endedElsewhere(t *test, b store.Docs, endKey func(...string) store.EndKey, one, other putter,
	later func() putter) {
	t.Helper()
	ender, ok := b.(store.SessionEnder)
	if !ok {
		return // it has no such ability
	}
	key := endKey("s/1", "s/none").Text
	end := func() { t.Helper(); t.succeed("end a session of another handle", ender.EndSession(t.ctx, key)) }
	v := t.put(one, "s/1", "renewed", t.put(one, "s/1", "x", ""))
	kept := t.put(other, "s/2", "y", "")
	end()
	t.none(b, "s/1", "the end")
	t.doc(b, "s/2", "y", kept)
	if _, err := one.Put(t.ctx, store.Doc{Key: "s/1", Value: []byte("late"), Version: v}); err == nil {
		t.Error("a late write was acknowledged")
	}
	t.none(b, "s/1", "a late write")
	if later != nil {
		next := later()
		v = t.put(next, "s/1", "z", "")
		end() // late
		t.doc(b, "s/1", "z", v)
		t.put(next, "s/1", "zz", v)
	}
	end() // doubled
	for _, bad := range []string{"", "0", "x", "{}", "00"} {
		if err := ender.EndSession(t.ctx, bad); err == nil {
			t.Errorf("the key %q ended something", bad)
		}
	}
	t.doc(b, "s/2", "y", kept)
}

// owner renews a session by a document, as somebody else sees it.
type owner struct {
	session store.Session
	witness store.Docs
	key     string
	v       store.Version
	renewed time.Time     // when the last put began that was acknowledged
	slow    time.Duration // without a renewal for so long it may have lost the session
}

// keeps puts the document for a while, each time after a pause, and looks at it all the time. False if it was lost, or
// the store was away, and the machine was too slow to renew in time, or stood still: that proves nothing.
func (o *owner) keeps(t *test, d, pause time.Duration) bool {
	t.Helper()
	for end := time.Now().Add(d); time.Now().Before(end); {
		called, longest := time.Now(), time.Since(o.renewed)
		ctx, cancel := context.WithTimeout(t.ctx, o.slow/2)
		_, err := o.session.Put(ctx, store.Doc{Key: o.key, Value: []byte("mine"), Version: o.v})
		cancel()
		longest = max(longest, time.Since(o.renewed))
		if err == nil {
			o.renewed = called
		}
		for look := true; look || time.Since(called) < pause; look = false {
			seen, gone := o.witness.Get(t.ctx, o.key)
			longest = max(longest, time.Since(o.renewed))
			lost := errors.Is(err, store.ErrSession) || gone != nil || over(o.session)
			switch {
			case lost && (longest >= o.slow || away(gone)):
				t.Logf("lost: the renewal %v, the document %v; for %v no renewal was acknowledged", err, gone, longest)
				return false
			case lost:
				t.Fatalf("an owner that renews has lost its session or its document %v after a put began: the renewal %v, the document %v, done %v",
					longest, err, gone, over(o.session))
			case !errors.Is(err, store.ErrConflict): // an older renewal may come late
				t.judge("renewal", err)
			}
			o.v = seen.Version // a renewal without an answer may have changed it
			pass(2 * time.Millisecond)
		}
	}
	return true
}

// away tells that a store was not reached: a client that stalls for a large part of its ttl may lose its connection.
func away(err error) bool {
	return errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrUnknown)
}

// sessionRenewed puts a document shortly before its session would expire, again and again: it is there until shortly
// before the ttl has passed since the last of these calls began. A machine that is too slow to call in time proves
// nothing, and tries again.
func sessionRenewed(t *test, open func() DocsWithSessions) {
	const ttl = 4 * time.Second
	s := open()
	if !s.SessionsExpire() {
		t.Skipf("the sessions of %T do not expire by themselves: there is nothing to renew", s)
	}
	for _, key := range []string{"s/1", "s/2", "s/3"} {
		o := &owner{witness: s, key: key, slow: ttl}
		session, err := s.OpenSession(t.ctx, ttl)
		t.succeed("open session", err)
		o.session, o.renewed = session, time.Now()
		o.v, err = session.Put(t.ctx, store.Doc{Key: key, Value: []byte("mine")})
		kept := !away(err) && o.keeps(newTest(t.T, patience+10*ttl), 2*ttl, ttl*85/100)
		_ = session.Close(t.ctx) // what is left goes with the store
		if kept {
			return
		}
	}
	t.Skipf("this machine was three times too slow to renew a session of %v in time: nothing was shown", ttl)
}
