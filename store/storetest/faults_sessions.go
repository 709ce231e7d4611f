package storetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/rota-run/rota/store"
)

// SessionFaults is the suite of store.Sessions when the path to the server breaks.
func SessionFaults[S DocsWithSessions](t *testing.T, open OpenThrough[S]) {
	runFaultRules(t, open, []faultRule[S]{
		{"cut in the middle", sessionCut[S]},
		{"half open", sessionHalfOpen[S]},
		{"expires while cut off", sessionExpires[S](Link.Cut)},
		{"expires while half open", sessionExpires[S](Link.Stall)},
		{"expires while replies are lost", sessionExpires[S](Link.DropReplies)},
		{"expires while silent", sessionExpires[S](silence)},
		{"survives a reset", sessionSurvives[S](Link.Reset, 0)},
		{"survives a short cut", sessionSurvives[S](Link.Cut, 8)},
		{"survives a short silence", sessionSurvives[S](Link.Stall, 4)},
		{"close while half open", sessionCloseHalfOpen[S]},
	})
}

// openBriefly opens a session that is to expire, or to survive.
func (b *bench[S]) openBriefly(t *testing.T, s store.Sessions) store.Session {
	t.Helper()
	var session store.Session
	again(t, b.ctx, "open session", func(ctx context.Context) (err error) {
		session, err = s.OpenSession(ctx, b.reach.TTL)
		return err
	})
	return session
}

// ownBriefly opens such a session, puts a document with it, and returns when the call of that began. If the machine stalls for the ttl in between,
// it has lost the session, and starts again.
func (b *bench[S]) ownBriefly(t *testing.T, s store.Sessions, key string) (session store.Session, v store.Version, called time.Time) {
	t.Helper()
	var err error
	for end := time.Now().Add(patience); time.Now().Before(end); {
		session = b.openBriefly(t, s)
		called = time.Now()
		if v, err = session.Put(b.ctx, store.Doc{Key: key, Value: []byte("mine")}); err == nil {
			return session, v, called
		}
		if time.Since(called) < b.reach.TTL/2 {
			break
		}
		_ = session.Close(b.ctx) // it has ended anyway, and with it what may have been written
		wantGone(t, b.ctx, any(b.witness).(store.Docs), key)
	}
	t.Fatalf("put %q with a session that has just begun: %v", key, err)
	return nil, "", called
}

// owned are changes of one document of a long session: creation, then update.
func owned[S DocsWithSessions](t *testing.T, b *bench[S], session store.Session, tag string) []*change {
	t.Helper()
	key := "f/session/" + tag
	v := put(t, b.ctx, session, key+"/2", "before", "")
	return []*change{
		{op: "session's create", session: session, key: key + "/1", value: "created"},
		{op: "session's update", session: session, key: key + "/2", value: "updated", before: store.Doc{Value: []byte("before"), Version: v}},
	}
}

func sessionCut[S DocsWithSessions](t *testing.T, b *bench[S]) {
	session := openSession(t, b.ctx, b.through)
	cutEach(t, b, func(t *testing.T, b *bench[S], tag string) []*change { return owned(t, b, session, tag) })
}

func sessionHalfOpen[S DocsWithSessions](t *testing.T, b *bench[S]) {
	session := openSession(t, b.ctx, b.through)
	stall := outage{"stalled", Link.Stall}
	for _, c := range owned(t, b, session, "x") {
		behind(t, b, stall, c)
	}
	var opened store.Session
	var err error
	during(t, b, stall, func() {
		err = b.begin(func(ctx context.Context) (err error) {
			opened, err = b.through.OpenSession(ctx, sessionTTL)
			return err
		}).end(t, "open session")
	})
	if err == nil { // a store may do that without a word to the server
		put(t, b.ctx, opened, "f/of-another-session", "x", "")
	}
}

func mayExpire(t *testing.T, s store.Sessions) {
	t.Helper()
	if !s.SessionsExpire() {
		t.Skipf("SessionsExpire is false: %T ends no session of a process that exists", s)
	}
}

// sessionExpires breaks the link for good. Both sides find out by themselves, and the owner not long after the others.
func sessionExpires[S DocsWithSessions](outage func(Link)) func(*testing.T, *bench[S]) {
	return func(t *testing.T, b *bench[S]) {
		mayExpire(t, b.through)
		session, _, _ := b.ownBriefly(t, b.through, "f/a")
		outage(b.link)
		began := time.Now()
		wantGone(t, b.ctx, b.witness, "f/a")
		gone := time.Since(began)
		if !patiently(50, b.reach.TTL/200, func() bool { return ended(session) }) { // timers are late on a busy machine
			t.Errorf("the document is gone for others %v after the link broke; %v later its owner does not know", gone, time.Since(began)-gone)
		}
		wantDone(t, session)
		t.Logf("ttl %v: gone for others %v after the link broke, for the owner by then or %v later", b.reach.TTL, gone, time.Since(began)-gone)
		wantError(t, "put with the session that expired", errOf(session.Put(b.ctx, store.Doc{Key: "f/b"})), store.ErrSession)
		b.heal(t)
		b.warm(t, b.through)
		wantError(t, "put with the session that expired, after the link was healed",
			errOf(session.Put(b.ctx, store.Doc{Key: "f/b"})), store.ErrSession)
		next := openSession(t, b.ctx, b.through)
		put(t, b.ctx, next, "f/a", "mine again", "")
	}
}

func ended(s store.Session) bool {
	select {
	case <-s.Done():
		return true
	default:
		return false
	}
}

// sessionSurvives breaks the link for a part of the ttl: an owner that continues to write keeps its session and its document. A machine that stalls for
// so long that it may have lost them proves nothing, and tries again; a faulty driver loses them each time.
func sessionSurvives[S DocsWithSessions](outage func(Link), part time.Duration) func(*testing.T, *bench[S]) {
	return func(t *testing.T, b *bench[S]) {
		mayExpire(t, b.through)
		for _, key := range []string{"f/a", "f/b", "f/c", "f/d", "f/e"} {
			if survives(t, b, key, outage, part) {
				return
			}
		}
		t.Errorf("five times no renewal was acknowledged for half of the ttl, %v, and the session was lost", b.reach.TTL)
	}
}

// survives is one attempt; false if the session was lost, and had gone without a renewal for long.
func survives[S DocsWithSessions](t *testing.T, b *bench[S], key string, outage func(Link), part time.Duration) bool {
	t.Helper()
	session, v, renewed := b.ownBriefly(t, b.through, key)
	outage(b.link)
	if part > 0 {
		until(b.reach.TTL/part, func() bool { return false }) // the load is the silence
	}
	b.heal(t)
	longest := time.Duration(0) // without a renewal
	for end := time.Now().Add(2 * b.reach.TTL); time.Now().Before(end); {
		called := time.Now()
		err := b.renew(session, key, v)
		longest = max(longest, time.Since(renewed))
		if err == nil {
			renewed = called
		}
		d, gone := b.witness.Get(b.ctx, key)
		lost := errors.Is(err, store.ErrSession) || gone != nil || ended(session)
		switch {
		case lost && max(longest, time.Since(renewed)) >= b.reach.TTL/2:
			t.Logf("lost: the renewal %v, the document %v; for %v no renewal was acknowledged", err, gone, max(longest, time.Since(renewed)))
			return false
		case lost:
			t.Fatalf("an owner that renews has lost its session or its document: the renewal %v, the document %v, done %v", err, gone, ended(session))
		case !errors.Is(err, store.ErrConflict): // an older renewal may come late
			judge(t, "renewal", err)
		}
		v = d.Version // a renewal without an answer may have changed it
	}
	return true
}

func (b *bench[S]) renew(session store.Session, key string, v store.Version) error {
	ctx, cancel := context.WithTimeout(b.ctx, b.reach.TTL/4)
	defer cancel()
	_, err := session.Put(ctx, store.Doc{Key: key, Value: []byte("mine"), Version: v})
	return err
}

// sessionCloseHalfOpen closes a session that the server cannot hear: whatever the answer, the documents go in the end.
func sessionCloseHalfOpen[S DocsWithSessions](t *testing.T, b *bench[S]) {
	mayExpire(t, b.through)
	session, _, _ := b.ownBriefly(t, b.through, "f/a")
	b.link.Stall()
	err := b.begin(session.Close).end(t, "close of a session")
	if err == nil {
		wantError(t, "get after a session was closed without error", errOf(b.witness.Get(b.ctx, "f/a")), store.ErrNotFound)
	}
	wantGone(t, b.ctx, b.witness, "f/a")
	wantDone(t, session)
}
