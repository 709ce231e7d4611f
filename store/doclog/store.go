package doclog

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/rota-run/rota/store"
)

// ErrDamaged reports that a document of the log is missing, or is not what was written: another program removed or changed it.
var ErrDamaged = errors.New("the log is damaged")

// Docs are the documents under a log.
type Docs interface {
	store.Store
	store.Docs
}

// Store is documents with a log. It is a [store.Watcher] and [store.LogWatcher] if its documents are a Watcher, and has [store.Sessions] if
// they have; both are found by type assertion, as for any store. It is always a [store.Refresher], which does nothing where the lists of its documents are
// not stale. It is safe for concurrent use.
type Store interface {
	Docs
	store.GetMany
	store.Log
	store.LogWith
	store.Seeder
}

// New puts a log into the documents of a store. It sends no request. Closing the result closes docs, which must not be used directly meanwhile.
func New(docs Docs, o Options) (Store, error) {
	l, err := newLog(docs, o)
	if err != nil {
		return nil, fmt.Errorf("make a log of documents: %w", err)
	}
	watcher, watches := docs.(store.Watcher)
	sessions, has := docs.(store.Sessions)
	switch {
	case watches && has:
		return struct {
			*log
			watching
			sessional
		}{l, watching{l, watcher}, sessional{l, sessions}}, nil
	case watches:
		return struct {
			*log
			watching
		}{l, watching{l, watcher}}, nil
	case has:
		return struct {
			*log
			sessional
		}{l, sessional{l, sessions}}, nil
	}
	return l, nil
}

// log is one handle.
type log struct {
	docs Docs
	many store.GetMany // nil: each document is a request of its own
	o    Options
	life string        // random: begins the names that this handle gives
	turn chan struct{} // one append at a time: those of one handle would only collide

	mu    sync.Mutex
	known uint64 // the log has reached this index: a record was seen there, or trimming has passed it
	names uint64 // given so far
}

func newLog(docs Docs, o Options) (*log, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	many, _ := docs.(store.GetMany) // few stores have it
	return &log{docs: docs, many: many, o: o.withDefaults(), life: rand.Text()[:lifeBytes], turn: make(chan struct{}, 1)}, nil
}

// lifeBytes is the length of the random part of a name: 80 bits.
const lifeBytes = 16

// newName is a name that nobody else gives, in this life or another one.
func (l *log) newName() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.names++
	return fmt.Sprintf("%s.%d", l.life, l.names)
}

func (l *log) reachedSoFar() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.known
}

// reached notes that the log has come to an index.
func (l *log) reached(index uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.known = max(l.known, index)
}

// owned reports whether a key, or all keys below a prefix, belong to the log.
func (l *log) owned(key string) bool {
	return key == l.o.Place || strings.HasPrefix(key, l.o.Place+"/")
}

func (l *log) refuse(key string) error {
	if l.owned(key) {
		return fmt.Errorf("%q belongs to the log: choose a key that does not begin with %q", key, l.o.Place)
	}
	return nil
}

// Get implements store.Docs.
func (l *log) Get(ctx context.Context, key string) (store.Doc, error) {
	if err := l.refuse(key); err != nil {
		return store.Doc{}, fmt.Errorf("get: %w", err)
	}
	return l.docs.Get(ctx, key)
}

// Refresh implements store.Refresher.
func (l *log) Refresh(ctx context.Context) error {
	if r, ok := l.docs.(store.Refresher); ok {
		return r.Refresh(ctx)
	}
	return nil
}

// Gets implements store.GetMany: in one request where the documents have it.
func (l *log) Gets(ctx context.Context, keys []string) ([]store.Doc, error) {
	if err := l.refuseAll(keys); err != nil {
		return nil, fmt.Errorf("get %d documents: %w", len(keys), err)
	}
	return store.GetAll(ctx, l.docs, keys)
}

func (l *log) refuseAll(keys []string) error {
	for _, key := range keys {
		if err := l.refuse(key); err != nil {
			return err
		}
	}
	return nil
}

// Put implements store.Docs.
func (l *log) Put(ctx context.Context, d store.Doc) (store.Version, error) {
	if err := l.refuse(d.Key); err != nil {
		return "", fmt.Errorf("put: %w", err)
	}
	return l.docs.Put(ctx, d)
}

// Delete implements store.Docs.
func (l *log) Delete(ctx context.Context, key string, v store.Version) error {
	if err := l.refuse(key); err != nil {
		return fmt.Errorf("delete: %w", err)
	}
	return l.docs.Delete(ctx, key, v)
}

// List implements store.Docs. The log's documents are not among them.
func (l *log) List(ctx context.Context, prefix string) ([]store.Doc, error) {
	if err := l.refuse(strings.TrimSuffix(prefix, "/")); err != nil {
		return nil, fmt.Errorf("list: %w", err)
	}
	docs, err := l.docs.List(ctx, prefix)
	if prefix != "" || err != nil {
		return docs, err
	}
	var out []store.Doc
	for _, d := range docs {
		if !l.owned(d.Key) {
			out = append(out, d)
		}
	}
	return out, nil
}

// Close implements store.Store.
func (l *log) Close() error { return l.docs.Close() }

// watching adds what watches can do.
type watching struct {
	log     *log
	watcher store.Watcher
}

// Watch implements store.Watcher. A watch of everything also gets hints of the log.
func (w watching) Watch(ctx context.Context, prefix string) (<-chan struct{}, error) {
	if err := w.log.refuse(strings.TrimSuffix(prefix, "/")); err != nil {
		return nil, fmt.Errorf("watch: %w", err)
	}
	return w.watcher.Watch(ctx, prefix)
}

// WatchLog implements store.LogWatcher. A trim gives hints too.
func (w watching) WatchLog(ctx context.Context) (<-chan struct{}, error) {
	return w.watcher.Watch(ctx, w.log.entries())
}

// sessional adds sessions.
type sessional struct {
	log      *log
	sessions store.Sessions
}

// SessionsExpire implements store.Sessions.
func (s sessional) SessionsExpire() bool { return s.sessions.SessionsExpire() }

// OpenSession implements store.Sessions.
func (s sessional) OpenSession(ctx context.Context, ttl time.Duration) (store.Session, error) {
	inner, err := s.sessions.OpenSession(ctx, ttl)
	if err != nil {
		return nil, err
	}
	return session{inner, s.log}, nil
}

// session keeps off the log's documents.
type session struct {
	store.Session
	log *log
}

// Put implements store.Session.
func (s session) Put(ctx context.Context, d store.Doc) (store.Version, error) {
	if err := s.log.refuse(d.Key); err != nil {
		return "", fmt.Errorf("put with session: %w", err)
	}
	return s.Session.Put(ctx, d)
}
