package nats

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	nc "github.com/nats-io/nats.go"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/internal/driver"
)

// session holds documents that the server removes by its own clock unless they are written again. A Put writes all of them; where the user is
// silent, a goroutine does, and what it writes keeps the version of the user's write.
type session struct {
	store *Store
	id    string
	ttl   time.Duration
	limit string // of a message, as the server takes it

	turn  chan struct{} // room 1: its holder may use what follows, and talk to the server
	docs  map[string]owned
	until time.Time // when the first document may vanish; without documents it has no meaning
	over  bool

	changed chan struct{} // room 1: until has moved
	done    chan struct{}
	once    sync.Once   // closes done
	timer   *time.Timer // closes done at until, whoever has the turn and for how long
}

// owned is a document of a session.
type owned struct {
	seq     uint64 // of its newest write
	version store.Version
	value   []byte
}

// SessionsExpire implements store.Sessions: the server ends the session of a process that is silent.
func (s *Store) SessionsExpire() bool { return true }

// OpenSession implements store.Sessions. The server counts in whole seconds: documents vanish after the ttl, rounded up to a second, a second
// later with replicas, and then within about a second. Nothing is sent: a session exists once it has a document.
func (s *Store) OpenSession(ctx context.Context, ttl time.Duration) (store.Session, error) {
	if ttl <= 0 {
		return nil, fmt.Errorf("open session: ttl is %v: give a positive one", ttl)
	}
	if err := s.enterChange(ctx); err != nil {
		return nil, fmt.Errorf("open session: %w", err)
	}
	owner := &session{
		store: s, id: s.newID(), ttl: ttl, limit: limit(ttl, s.replicas),
		turn: make(chan struct{}, 1), docs: map[string]owned{},
		changed: make(chan struct{}, 1), done: make(chan struct{}),
	}
	owner.timer = time.AfterFunc(ttl, owner.finish)
	owner.timer.Stop() // until there is a document
	if !s.begin(func() { s.sessions[owner] = struct{}{} }, owner.run) {
		return nil, fmt.Errorf("open session: %w", store.ErrClosed)
	}
	return owner, nil
}

// limit is the time after which the server removes a message, never less than ttl. Replicas take over with clocks of their own: a second more
// is for what these differ by.
func limit(ttl time.Duration, replicas int) string {
	seconds := int64((ttl + time.Second - 1) / time.Second)
	if replicas > 1 {
		seconds++
	}
	return strconv.FormatInt(seconds, 10) + "s"
}

// Done implements store.Session. It is closed no later than when the server may remove a document of the session.
func (o *session) Done() <-chan struct{} { return o.done }

// take waits for the turn.
func (o *session) take(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	select {
	case o.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// give gives the turn back, and sets the clock that ends the session.
func (o *session) give() {
	if len(o.docs) > 0 {
		o.timer.Reset(time.Until(o.until))
	} else {
		o.timer.Stop()
	}
	<-o.turn
}

// Put implements store.Session. It writes the session's other documents again first, and then this one: so an acknowledged Put renews all.
func (o *session) Put(ctx context.Context, d store.Doc) (_ store.Version, err error) {
	defer driver.Wrap(&err, "put %q with session", d.Key)
	if err := store.CheckKey(d.Key); err != nil {
		return "", err
	}
	if err := o.take(ctx); err != nil {
		return "", err
	}
	defer o.give()
	start := time.Now()
	if o.lapsed(start) {
		return "", store.ErrSession
	}
	if err := o.store.checkDoc(ctx, d); err != nil {
		return "", err
	}
	if err := o.repeat(ctx, d.Key); err != nil {
		return "", err
	}
	have, ours := o.docs[d.Key]
	ask := d
	if ours && have.version == d.Version {
		ask.Version = versionOf(have.seq)
	}
	seq, err := o.store.put(ctx, ask, o.header(""))
	if err != nil {
		return "", err
	}
	v := versionOf(seq)
	if o.ended() {
		return "", fmt.Errorf("%w: the session ended before the answer came", store.ErrUnknown)
	}
	o.docs[d.Key] = owned{seq: seq, version: v, value: slices.Clone(d.Value)}
	o.renewed(start)
	return v, nil
}

// header is that of a document of the session; repeats is the version that the write repeats, "" for none.
func (o *session) header(repeats store.Version) nc.Header {
	h := nc.Header{headerTTL: {o.limit}, headerSession: {o.id}}
	if repeats != "" {
		h[headerVersion] = []string{string(repeats)}
	}
	return h
}

// lapsed reports whether the session has ended, and ends it when its time is over.
func (o *session) lapsed(now time.Time) bool {
	if !o.over && (o.ended() || len(o.docs) > 0 && !now.Before(o.until)) {
		o.end()
	}
	return o.over
}

func (o *session) ended() bool {
	select {
	case <-o.done:
		return true
	default:
		return false
	}
}

// renewed notes that all documents were written after start.
func (o *session) renewed(start time.Time) {
	o.until = start.Add(o.ttl)
	select {
	case o.changed <- struct{}{}:
	default:
	}
}

// repeat writes all documents again but one. One that somebody has deleted, or taken over, is no longer the session's. An error says that a
// document could not be renewed, ErrSession that one has expired; readers see no change.
func (o *session) repeat(ctx context.Context, but string) error {
	for _, key := range slices.Sorted(maps.Keys(o.docs)) {
		if key == but {
			continue
		}
		if err := o.repeatOne(ctx, key); err != nil {
			return driver.NotDone(err)
		}
	}
	return nil
}

func (o *session) repeatOne(ctx context.Context, key string) error {
	subject := o.store.names.doc(key)
	for {
		d := o.docs[key]
		seq, err := o.store.swap(ctx, subject, d.seq, o.header(d.version), d.value)
		if err == nil {
			d.seq = seq
			o.docs[key] = d
			return nil
		}
		if !errors.Is(err, errMoved) {
			return err
		}
		m, err := o.store.current(ctx, subject)
		switch {
		case err != nil:
			return err
		case m.expired():
			o.end()
			return store.ErrSession
		case m.marker() || m.header.Get(headerSession) != o.id:
			delete(o.docs, key)
			return nil
		}
		o.docs[key] = owned{seq: m.seq, version: m.version(), value: m.data} // a write of ours whose answer was lost
	}
}

// Close implements store.Session.
func (o *session) Close(ctx context.Context) (err error) {
	defer driver.Wrap(&err, "close session")
	if err := o.take(ctx); err != nil {
		return err
	}
	defer o.give()
	if o.over {
		return nil
	}
	defer o.end()
	var errs []error
	for _, key := range slices.Sorted(maps.Keys(o.docs)) {
		if err := o.remove(ctx, key); err != nil {
			errs = append(errs, fmt.Errorf("remove %q: %w", key, err))
		}
	}
	return errors.Join(errs...)
}

// remove deletes a document if it is still the session's.
func (o *session) remove(ctx context.Context, key string) error {
	return o.store.removeOf(ctx, o.id, key, o.docs[key].seq)
}

// removeOf deletes a document while it is a session's; seq is its newest write that is known.
func (s *Store) removeOf(ctx context.Context, session, key string, seq uint64) error {
	subject := s.names.doc(key)
	for {
		err := s.mark(ctx, subject, seq)
		if !errors.Is(err, errMoved) {
			return err
		}
		m, err := s.current(ctx, subject)
		if err != nil || m.marker() || m.header.Get(headerSession) != session {
			return err
		}
		seq = m.seq
	}
}

// end ends the session; the caller has the turn. The documents that are left go by the server's clock.
func (o *session) end() {
	o.over = true
	o.finish()
}

// finish closes done, once; anybody may.
func (o *session) finish() {
	o.once.Do(func() {
		close(o.done)
		o.store.mu.Lock()
		defer o.store.mu.Unlock()
		delete(o.store.sessions, o)
	})
}
