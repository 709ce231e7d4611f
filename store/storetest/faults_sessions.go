package storetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/rota-run/rota/store"
)

// SessionFaults is the suite of store.Sessions when the way to the server breaks.
func SessionFaults[S DocsWithSessions](t *testing.T, open OpenThrough[S]) {
	runFaultRules(t, open, []faultRule[S]{
		{"reply lost after the effect", sessionReplyLost[S]},
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

// owned are changes of one document of a long session: creation, then update.
func owned[S DocsWithSessions](t *testing.T, b *bench[S], session store.Session, tag string) []*change {
	t.Helper()
	key := "f/session/" + tag
	v := putWith(t, b.ctx, session, key+"/2", "before", "")
	return []*change{
		{op: "session's create", key: key + "/1", value: "created"},
		{op: "session's update", key: key + "/2", value: "updated", before: store.Doc{Value: []byte("before"), Version: v}},
	}
}

func (c *change) doWith(session store.Session) func(context.Context) error {
	return func(ctx context.Context) (err error) {
		c.version, err = session.Put(ctx, store.Doc{Key: c.key, Value: []byte(c.value), Version: c.before.Version})
		return err
	}
}

func sessionReplyLost[S DocsWithSessions](t *testing.T, b *bench[S]) {
	session := openSession(t, b.ctx, b.through)
	for _, c := range owned(t, b, session, "x") {
		replyLost(t, b, c, b.through, c.doWith(session))
	}
}

func sessionCut[S DocsWithSessions](t *testing.T, b *bench[S]) {
	session := openSession(t, b.ctx, b.through)
	outcomes := map[string]int{}
	for _, m := range moments() {
		for _, c := range owned(t, b, session, m.tag()) {
			b.warm(t, b.through)
			m.arm(b.link)
			err := begin(b.ctx, c.doWith(session)).end(t, c.String()+" cut at "+m.name)
			b.heal(t)
			b.warm(t, b.through)
			outcomes[c.verify(t, b.ctx, b.witness, err)]++
			c.fenced(t, b.ctx, b.witness)
		}
	}
	t.Log(outcomes)
}

func sessionHalfOpen[S DocsWithSessions](t *testing.T, b *bench[S]) {
	session := openSession(t, b.ctx, b.through)
	for _, c := range owned(t, b, session, "x") {
		b.warm(t, b.through)
		b.link.Stall()
		err := begin(b.ctx, c.doWith(session)).end(t, c.String())
		if err == nil {
			t.Errorf("%v behind a link that is half open: no error", c)
		}
		var opened store.Session
		openErr := begin(b.ctx, func(ctx context.Context) (err error) {
			opened, err = b.through.OpenSession(ctx, sessionTTL)
			return err
		}).end(t, "open session")
		b.heal(t)
		b.warm(t, b.through)
		c.verify(t, b.ctx, b.witness, err)
		if openErr == nil { // a store may do that without a word to the server
			putWith(t, b.ctx, opened, c.key+"/of-another-session", "x", "")
		}
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
		session := b.openBriefly(t, b.through)
		putWith(t, b.ctx, session, "f/a", "mine", "")
		outage(b.link)
		began := time.Now()
		wantGone(t, b.ctx, b.witness, "f/a")
		gone := time.Since(began)
		select {
		case <-session.Done():
		case <-time.After(b.reach.TTL / 4): // timers are late on a busy machine
			t.Errorf("the document is gone for others %v after the link broke; %v later its owner does not know", gone, b.reach.TTL/4)
		}
		wantDone(t, session)
		t.Logf("ttl %v: gone for others %v after the link broke, for the owner by then or %v later", b.reach.TTL, gone, time.Since(began)-gone)
		_, err := session.Put(b.ctx, store.Doc{Key: "f/b"})
		wantError(t, "put with the session that expired", err, store.ErrSession)
		b.heal(t)
		b.warm(t, b.through)
		_, err = session.Put(b.ctx, store.Doc{Key: "f/b"})
		wantError(t, "put with the session that expired, after the link was healed", err, store.ErrSession)
		next := b.openBriefly(t, b.through)
		putWith(t, b.ctx, next, "f/a", "mine again", "")
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

// sessionSurvives breaks the link for a part of the ttl: an owner that goes on writing keeps its session and its document.
func sessionSurvives[S DocsWithSessions](outage func(Link), part time.Duration) func(*testing.T, *bench[S]) {
	return func(t *testing.T, b *bench[S]) {
		mayExpire(t, b.through)
		session := b.openBriefly(t, b.through)
		v := putWith(t, b.ctx, session, "f/a", "mine", "")
		outage(b.link)
		if part > 0 {
			until(b.reach.TTL/part, func() bool { return false }) // the load is the silence
		}
		b.heal(t)
		for end := time.Now().Add(2 * b.reach.TTL); time.Now().Before(end); {
			b.renew(t, session, v)
			d, err := b.witness.Get(b.ctx, "f/a")
			if err != nil {
				t.Fatalf("the document of an owner that renews: %v", err)
			}
			v = d.Version // a renewal without an answer may have changed it
		}
		if ended(session) {
			t.Fatalf("the session of an owner that renews has ended")
		}
	}
}

func (b *bench[S]) renew(t *testing.T, session store.Session, v store.Version) {
	t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, b.reach.TTL/4)
	defer cancel()
	_, err := session.Put(ctx, store.Doc{Key: "f/a", Value: []byte("mine"), Version: v})
	if !errors.Is(err, store.ErrConflict) { // an older renewal may come late
		judge(t, "renewal", err)
	}
}

// sessionCloseHalfOpen closes a session that the server cannot hear: whatever the answer, the documents go in the end.
func sessionCloseHalfOpen[S DocsWithSessions](t *testing.T, b *bench[S]) {
	mayExpire(t, b.through)
	session := b.openBriefly(t, b.through)
	putWith(t, b.ctx, session, "f/a", "mine", "")
	b.link.Stall()
	err := begin(b.ctx, session.Close).end(t, "close of a session")
	if err == nil {
		_, err = b.witness.Get(b.ctx, "f/a")
		wantError(t, "get after a session was closed without error", err, store.ErrNotFound)
	}
	wantGone(t, b.ctx, b.witness, "f/a")
	wantDone(t, session)
}
