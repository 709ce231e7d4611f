package storetest

import (
	"context"
	"time"

	"github.com/rota-run/rota/store"
)

// own opens a session that is to expire, or to survive, puts a document with it, and returns when the call of that
// began. If the machine stalls for the ttl in between, it has lost the session, and starts again.
func (b *bench[C]) own(s DocsWithSessions, key string) (session store.Session, v store.Version, called time.Time) {
	b.Helper()
	var err error
	for end := time.Now().Add(patience); time.Now().Before(end); {
		b.again("open session", func(ctx context.Context) (err error) {
			session, err = s.OpenSession(ctx, b.ttl)
			return err
		})
		called = time.Now()
		if v, err = session.Put(b.ctx, store.Doc{Key: key, Value: []byte("mine")}); err == nil {
			return session, v, called
		}
		if time.Since(called) < b.ttl/2 {
			break
		}
		_ = session.Close(b.ctx) // it has ended anyway, and with it what may have been written
		b.gone(any(b.witness).(store.Docs), key)
	}
	b.Fatalf("put %q with a session that has just begun: %v", key, err)
	return nil, "", called
}

// owned are changes of one document of a long session: creation, then update.
func owned(b *bench[DocsWithSessions], h *history, session store.Session, o outage) {
	created, updated := docsInput{op: "put", key: "f/1/" + o.name, doc: "created"},
		docsInput{op: "put", key: "f/2/" + o.name, doc: "updated"}
	updated.version = h.docsDo(b.ctx, 0, b.through, session,
		docsInput{op: "put", key: updated.key, doc: "before"}).version
	for _, in := range []docsInput{created, updated} {
		if out := b.change(h, o, b.through, b.witness, session, in); out.err == nil && o.name == "stalled" {
			b.Errorf("put %q while the link is stalled: no error", in.key)
		}
	}
}

func sessionCut(b *bench[DocsWithSessions]) {
	h, session := newHistory(false), b.session(b.through)
	for _, m := range moments() {
		owned(b, h, session, m)
	}
	h.checkDocs(b.test, b.witness)
}

func sessionHalfOpen(b *bench[DocsWithSessions]) {
	h := newHistory(false)
	owned(b, h, b.session(b.through), outage{"stalled", Link.Stall})
	var opened store.Session
	var err error
	b.during(Link.Stall, func() {
		err = b.ask("open session", func(ctx context.Context) (err error) {
			opened, err = b.through.OpenSession(ctx, sessionTTL)
			return err
		})
	})
	if err == nil { // a store may do that without a word to the server
		b.put(opened, "f/of-another-session", "x", "")
	}
	h.checkDocs(b.test, b.witness)
}

func mayExpire(b *bench[DocsWithSessions]) {
	b.Helper()
	if !b.through.SessionsExpire() {
		b.Skipf("SessionsExpire is false: %T ends no session of a process that exists", b.through)
	}
}

// expires breaks the link for good. Both sides find out by themselves, and the owner not long after the others.
func expires(b *bench[DocsWithSessions], outage func(Link)) {
	mayExpire(b)
	session, _, _ := b.own(b.through, "f/a")
	outage(b.link)
	began := time.Now()
	b.gone(b.witness, "f/a")
	gone := time.Since(began)
	for ticks := 0; !over(session) && ticks <= 50; ticks++ { // timers are late on a busy machine; while the process stands still, at most one tick passes
		if ticks == 50 {
			b.Errorf("the document is gone for others %v after the link broke; %v later its owner does not know", gone,
				time.Since(began)-gone)
		}
		pass(b.ttl / 200)
	}
	b.ended(session.Done())
	b.Logf("ttl %v: gone for others %v after the link broke, for the owner by then or %v later", b.ttl, gone,
		time.Since(began)-gone)
	b.fails("put with the session that expired", errOf(session.Put(b.ctx, store.Doc{Key: "f/b"})), store.ErrSession)
	b.heal()
	b.warm(b.through)
	b.fails("put with the session that expired, after the link was healed",
		errOf(session.Put(b.ctx, store.Doc{Key: "f/b"})), store.ErrSession)
	b.put(b.session(b.through), "f/a", "mine again", "")
}

// survives breaks the link for a part of the ttl: an owner that continues to write keeps its session and its document.
// A machine that stalls for so long that it may have lost them proves nothing, and tries again; a faulty driver loses
// them each time.
func survives(b *bench[DocsWithSessions], outage func(Link), part time.Duration) {
	mayExpire(b)
	for _, key := range []string{"f/a", "f/b", "f/c", "f/d", "f/e"} {
		o := &owner{witness: b.witness, key: key, slow: b.ttl / 2}
		o.session, o.v, o.renewed = b.own(b.through, key)
		outage(b.link)
		if part > 0 {
			pass(b.ttl / part)
		}
		b.heal()
		if o.keeps(b.test, 2*b.ttl, 0) {
			return
		}
	}
	b.Errorf("five times no renewal was acknowledged for half of the ttl, %v, and the session was lost", b.ttl)
}

// sessionCloseHalfOpen closes a session that the server cannot hear: whatever the answer, the documents go in the end.
func sessionCloseHalfOpen(b *bench[DocsWithSessions]) {
	mayExpire(b)
	session, _, _ := b.own(b.through, "f/a")
	b.link.Stall()
	if err := b.ask("close of a session", session.Close); err == nil {
		b.none(b.witness, "f/a", "a session was closed without error")
	}
	b.gone(b.witness, "f/a")
	b.ended(session.Done())
}

// watchedStore is what WatchFaults needs.
type watchedStore interface {
	store.Docs
	store.Watcher
	store.Log
	store.LogWatcher
}

// watches are both kinds, of somebody whose link breaks, over what the witness changes.
type watches struct {
	*bench[watchedStore]
	both [2]<-chan struct{}
	v    store.Version
}

func watching(b *bench[watchedStore]) *watches {
	b.Helper()
	docs, err := b.through.Watch(b.ctx, "f/")
	b.succeed("watch", err)
	log, err := b.through.WatchLog(b.ctx)
	b.succeed("watch log", err)
	return &watches{b, [2]<-chan struct{}{docs, log}, ""}
}

func (w *watches) write() {
	w.Helper()
	w.v = w.put(w.witness, "f/a", "x", w.v)
	w.append(w.witness, "x")
}

func (w *watches) drain() {
	for _, hints := range w.both {
		drain(hints)
	}
}

func (w *watches) hints(after string) {
	w.Helper()
	w.hint(w.both[0], after+" (documents)")
	w.hint(w.both[1], after+" (log)")
}

// goOn wants hints of changes, one after the other, that nothing else gives a cause for. Since late hints of before are
// allowed, it shows only in the sum.
func (w *watches) goOn() {
	w.Helper()
	for range 5 {
		w.drain()
		w.write()
		w.hints("a change when the link was whole again")
	}
}

func watchOutage(b *bench[watchedStore], o outage) {
	w := watching(b)
	w.hints("the start")
	w.write()
	w.hints("a change")
	o.make(b.link)
	w.write()
	w.drain()
	b.heal()
	w.hints("the link was healed")
	w.goOn()
}

func watchReset(b *bench[watchedStore]) {
	w := watching(b)
	for range 3 {
		w.drain()
		b.link.Reset()
		w.write()
		w.hints("a change right after a reset")
	}
	w.goOn()
}
