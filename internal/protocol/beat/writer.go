package beat

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/heartbeat"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/internal/protocol/outbox"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// Writer writes the heartbeat of one member. Its methods may be called from any goroutine. The exported fields must not
// change.
type Writer struct {
	Member     cluster.MemberID
	Store      store.Docs
	TTL        time.Duration // the usual one
	NoSessions bool
	Guard      protocol.Guard // nil for none
	Tied       []string       // keys that Put may write
	// Fenced: others end the lease by a write over the heartbeat, or its removal. Where that was done it is not written
	// again; without it nobody else writes the key.
	Fenced bool
	Logger *slog.Logger
	Now    func() protocol.Instant
	Wall   func() time.Time // for people: it decides nothing

	made    sync.Once
	turn    chan struct{} // has room for the one who writes; a waiter gives up when its ctx ends, which a mutex does not let it
	key     string        // of the life that the rest belongs to; "" before the first
	life    uint64        // its number
	with    Life
	former  *Life // the life before: its heartbeat stays until the present one is established; nil for none
	writes  int   // of the present life
	version store.Version
}

// ErrFormerLife answers a write that was overtaken by a renewal of another life. The store was not asked.
var ErrFormerLife = errors.New("the heartbeat belongs to a former life of the member")

// Renew writes the heartbeat. Sent is an instant before the write was sent, stated the TTL in it: never more than that
// of a session that can expire.
func (w *Writer) Renew(ctx context.Context,
	e member.Renew) (sent protocol.Instant, stated time.Duration, out outbox.Outcome, err error) {
	e.TTL = cmp.Or(e.TTL, w.TTL)
	if err := w.take(ctx); err != nil {
		return w.Now(), e.TTL, outbox.NotDone, err
	}
	defer w.give()
	sent = w.Now()
	stated, out, err = w.write(ctx, e)
	return sent, stated, out, err
}

// Put writes a document that vanishes with the heartbeat of an epoch, if the store has sessions.
func (w *Writer) Put(ctx context.Context, life uint64, d store.Doc) (store.Version, error) {
	if err := w.take(ctx); err != nil {
		return "", err
	}
	defer w.give()
	if w.key == "" || w.life != life {
		return "", ErrFormerLife
	}
	if w.with.Session == nil {
		return w.Store.Put(ctx, d)
	}
	return w.with.Session.Put(ctx, d)
}

// take waits until nobody else writes.
func (w *Writer) take(ctx context.Context) error {
	w.made.Do(func() { w.turn = make(chan struct{}, 1) })
	select {
	case w.turn <- struct{}{}: // also where ctx has ended: the store says so
		return nil
	default:
	}
	select {
	case w.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for the renewal before: %w", context.Cause(ctx))
	}
}

func (w *Writer) give() { <-w.turn }

func (w *Writer) write(ctx context.Context, e member.Renew) (time.Duration, outbox.Outcome, error) {
	if w.key != e.Key {
		if e.Life < w.life {
			return e.TTL, outbox.NotDone, ErrFormerLife // to begin it now would end the present one
		}
		if err := w.begin(ctx, e); err != nil {
			return e.TTL, outbox.NotDone, err
		}
	}
	stated := Stated(e.TTL, w.with.Most)
	value, err := json.Marshal(w.text().States(w.TTL, stated))
	if err != nil {
		return stated, outbox.NotDone, err
	}
	out, err := w.store(ctx, e, value)
	return stated, out, err
}

// store writes the heartbeat in the present life.
func (w *Writer) store(ctx context.Context, e member.Renew, value []byte) (outbox.Outcome, error) {
	for tries := range 3 {
		if tries > 0 || w.Fenced && w.version == "" && !e.Create {
			if out, err := w.readBack(ctx, e); out != outbox.Done {
				return out, err
			}
		}
		v, err := w.renew(ctx, store.Doc{Key: e.Key, Value: value, Version: w.version})
		switch {
		case err == nil:
			w.version = v
			// Sooner, members that do not know the new heartbeat yet would report the old one as gone.
			if w.writes++; w.writes >= 3 {
				w.closeFormer(ctx)
			}
			return outbox.Done, nil
		case errors.Is(err, store.ErrSession):
			return outbox.Refused, nil
		case !errors.Is(err, store.ErrConflict):
			return outbox.OutcomeOf(err), err
		}
	}
	return outbox.NotDone, store.ErrConflict
}

// readBack takes over the version that is there: a former write of ours may have been stored though its outcome was
// unknown. It refuses what was fenced or removed, also where the late first write of ours has made it again.
func (w *Writer) readBack(ctx context.Context, e member.Renew) (outbox.Outcome, error) {
	d, err := w.Store.Get(ctx, e.Key)
	text := heartbeat.TextOf(d.Value)
	switch {
	case err == nil && w.Fenced && (text.State != heartbeat.Live || text.New && w.writes > 0):
		return outbox.Refused, nil
	case err == nil:
		w.version = d.Version
	case errors.Is(err, store.ErrNotFound) && e.Create:
		w.version = ""
	case errors.Is(err, store.ErrNotFound):
		return outbox.Refused, nil
	default:
		return outbox.NotDone, err
	}
	return outbox.Done, nil
}

func (w *Writer) renew(ctx context.Context, d store.Doc) (store.Version, error) {
	if w.with.Session != nil {
		return store.Renew(ctx, w.with.Session, d)
	}
	return w.Store.Put(ctx, d)
}

// begin starts another life. Where the one before could not begin, what was before it stays: others look at it.
func (w *Writer) begin(ctx context.Context, e member.Renew) error {
	if w.key != "" {
		w.closeFormer(ctx)
		if w.Fenced { // nothing runs in the former life, but others that find its heartbeat would wait for it
			w.close(ctx)
		}
		was := w.with
		w.former, w.with, w.key, w.version, w.writes = &was, Life{}, "", "", 0
	}
	w.life = e.Life
	l, err := Begin(ctx, w.Store, !w.NoSessions, w.Guard, e.TTL, w.TTL, append([]string{e.Key}, w.Tied...)...)
	if err != nil {
		return err
	}
	w.with, w.key = l, e.Key
	return nil
}

func (w *Writer) closeFormer(ctx context.Context) {
	if w.former == nil {
		return
	}
	if err := w.former.Close(ctx, w.Guard); err != nil {
		w.Logger.Debug("close the session of a former life", "err", err)
		if w.writes >= 3 {
			w.former.release(w.Guard) // nobody reads that heartbeat any more
		}
	}
	w.former = nil
}

// text is what the heartbeat says for people.
func (w *Writer) text() heartbeat.Text {
	t := heartbeat.Text{Member: string(w.Member), AtMS: w.Wall().UnixMilli()}
	if w.Guard != nil {
		t.Guardian = w.Guard.State()
	}
	if w.Fenced {
		t.State, t.Tied, t.New = heartbeat.Live, w.with.Session != nil, w.version == ""
	}
	return t
}

// Close removes the heartbeat after the member has left or halted.
func (w *Writer) Close(ctx context.Context) {
	if err := w.take(ctx); err != nil {
		w.Logger.Debug("remove our heartbeat", "err", err)
		return
	}
	defer w.give()
	w.closeFormer(ctx)
	w.close(ctx)
}

func (w *Writer) close(ctx context.Context) {
	var err error
	if w.with.Session == nil && w.version != "" {
		err = w.Store.Delete(ctx, w.key, w.version)
	}
	if err == nil || errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrConflict) { // others have ended it
		err = w.with.Close(ctx, w.Guard)
	}
	if w.with, w.version = (Life{}), ""; err != nil {
		w.Logger.Debug("remove our heartbeat", "err", err)
	}
}

// Life is what a heartbeat is written with until its key changes.
type Life struct {
	Session store.Session // nil for none
	Most    time.Duration // the longest TTL that may be stated: see Open
	end     store.EndKey
}

// Begin begins a life: in a session, where s is a store that has them. A guardian, if there is one, hears how to end
// it; docs are the heartbeat, and what else vanishes with the session.
func Begin(
	ctx context.Context, s store.Docs, sessions bool, g protocol.Guard, ttl, usual time.Duration, docs ...string,
) (l Life, err error) {
	ss, ok := s.(store.Sessions)
	if ok = ok && sessions; ok {
		if l.Session, l.Most, err = Open(ctx, ss, ttl, usual); err != nil {
			return Life{}, err
		}
	}
	if g == nil {
		return l, nil
	}
	if l.end = store.EndKeyOf(s, docs[0]); ok { // without a session: the key of a heartbeat is that of one life
		l.end = store.EndKeyOf(l.Session, docs...)
	}
	g.Guard(l.end)
	return l, nil
}

// Close ends a life in order. Where the store did not take that, the guardian still knows of it, and ends it when the
// process has ended.
func (l Life) Close(ctx context.Context, g protocol.Guard) error {
	if l.Session != nil {
		if err := l.Session.Close(ctx); err != nil {
			return err
		}
	}
	l.release(g)
	return nil
}

func (l Life) release(g protocol.Guard) {
	if g != nil {
		g.Release(l.end)
	}
}

// Open opens a session for heartbeats that are to state a TTL. A store that grants none for so long is asked for half
// of it, down to the usual TTL. most is the longest TTL that a heartbeat in the session may state: its owner counts on
// it, and a session that expires takes the heartbeat away. 0: any.
func Open(ctx context.Context, s store.Sessions, ttl,
	usual time.Duration) (session store.Session, most time.Duration, err error) {
	for {
		session, err = s.OpenSession(ctx, ttl)
		if !errors.Is(err, store.ErrTTL) || ttl <= usual {
			break
		}
		ttl = max(usual, ttl/2)
	}
	if err != nil {
		return nil, 0, err
	}
	if s.SessionsExpire() {
		most = ttl
	}
	return session, most, nil
}

// Stated is the TTL that a heartbeat states: what is asked for, but not more than its session lasts.
func Stated(ttl, most time.Duration) time.Duration { return min(ttl, cmp.Or(most, ttl)) }
