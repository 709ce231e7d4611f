package full

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/engine"
)

// Get implements store.Docs.
func (s *Bare) Get(ctx context.Context, key string) (store.Doc, error) {
	return call(ctx, s, looks, func(ctx context.Context) (store.Doc, error) { return s.docs.Get(ctx, key) })
}

// Gets implements store.GetMany.
func (s *Bare) Gets(ctx context.Context, keys []string) ([]store.Doc, error) {
	return call(ctx, s, looks, func(ctx context.Context) ([]store.Doc, error) { return s.docs.Gets(ctx, keys) })
}

// List implements store.Docs.
func (s *Bare) List(ctx context.Context, prefix string) ([]store.Doc, error) {
	return call(ctx, s, looks, func(ctx context.Context) ([]store.Doc, error) { return s.docs.List(ctx, prefix) })
}

// Put implements store.Docs. The written document is tied to no session, even if the previous one was.
func (s *Bare) Put(ctx context.Context, d store.Doc) (store.Version, error) {
	return call(ctx, s, changes, func(ctx context.Context) (store.Version, error) { return s.docs.Put(ctx, d) })
}

// Delete implements store.Docs.
func (s *Bare) Delete(ctx context.Context, key string, v store.Version) error {
	return s.change(ctx, func(ctx context.Context) error { return s.docs.Delete(ctx, key, v) })
}

// Append implements store.Log.
func (s *Bare) Append(ctx context.Context, data []byte) (uint64, error) {
	return call(ctx, s, changes, func(ctx context.Context) (uint64, error) { return s.records.Append(ctx, data) })
}

// Read implements store.Log.
func (s *Bare) Read(ctx context.Context, after uint64, limit int) (store.Page, error) {
	return call(ctx, s, looks, func(ctx context.Context) (store.Page, error) {
		return s.records.Read(ctx, after, limit)
	})
}

// ReadWith implements store.LogWith.
func (s *Bare) ReadWith(ctx context.Context, after uint64, limit int, keys []string) (store.Page, []store.Doc, error) {
	var page store.Page
	docs, err := call(ctx, s, looks, func(ctx context.Context) (docs []store.Doc, err error) {
		page, docs, err = s.records.ReadWith(ctx, after, limit, keys)
		return docs, err
	})
	return page, docs, err
}

// Snapshot implements store.Log.
func (s *Bare) Snapshot(ctx context.Context) (store.Record, error) {
	return call(ctx, s, looks, s.records.Snapshot)
}

// SaveSnapshot implements store.Log.
func (s *Bare) SaveSnapshot(ctx context.Context, r store.Record) error {
	return s.change(ctx, func(ctx context.Context) error { return s.records.SaveSnapshot(ctx, r) })
}

// Trim implements store.Log.
func (s *Bare) Trim(ctx context.Context, index uint64) error {
	return s.change(ctx, func(ctx context.Context) error { return s.records.Trim(ctx, index) })
}

// SeedLog implements store.Seeder.
func (s *Bare) SeedLog(ctx context.Context, index uint64) error {
	return s.change(ctx, func(ctx context.Context) error { return s.records.SeedLog(ctx, index) })
}

// Watch implements store.Watcher.
func (s *Store) Watch(ctx context.Context, prefix string) (<-chan struct{}, error) {
	return s.watch(ctx, prefix)
}

// WatchLog implements store.LogWatcher.
func (s *Store) WatchLog(ctx context.Context) (<-chan struct{}, error) { return s.watchLog(ctx) }

// Watch implements store.Watcher.
func (s *Watched) Watch(ctx context.Context, prefix string) (<-chan struct{}, error) {
	return s.watch(ctx, prefix)
}

// WatchLog implements store.LogWatcher.
func (s *Watched) WatchLog(ctx context.Context) (<-chan struct{}, error) { return s.watchLog(ctx) }

func (s *Bare) watch(ctx context.Context, prefix string) (<-chan struct{}, error) {
	return s.hints(ctx, func(ctx context.Context) (<-chan struct{}, error) { return s.docs.Watch(ctx, prefix) })
}

func (s *Bare) watchLog(ctx context.Context) (<-chan struct{}, error) {
	return s.hints(ctx, s.records.WatchLog)
}

// hints begins a watch, whose context lasts beyond the call.
func (s *Bare) hints(
	ctx context.Context, begin func(context.Context) (<-chan struct{}, error),
) (<-chan struct{}, error) {
	watching, leave, err := s.enter(ctx, looks)
	if err != nil {
		return nil, s.placed(err)
	}
	hints, err := begin(watching)
	if err != nil {
		leave()
		return nil, s.placed(err)
	}
	context.AfterFunc(watching, leave)
	return hints, nil
}

// SessionsExpire implements store.Sessions.
func (s *Store) SessionsExpire() bool { return s.sessions.Expire() }

// OpenSession implements store.Sessions. The store may make the ttl longer.
func (s *Store) OpenSession(ctx context.Context, ttl time.Duration) (store.Session, error) {
	n, err := call(ctx, s.Bare, changes, func(ctx context.Context) (*engine.Session, error) {
		return s.sessions.Open(ctx, ttl)
	})
	if err != nil {
		return nil, err
	}
	return &session{n, s}, nil
}

// EndSession implements store.SessionEnder.
func (s *Store) EndSession(ctx context.Context, key string) error {
	return s.change(ctx, func(ctx context.Context) error { return s.sessions.End(ctx, key) })
}

// session is a session of a handle.
type session struct {
	*engine.Session
	of *Store
}

var (
	_ store.EndableSession = (*session)(nil)
	_ store.Renewer        = (*session)(nil)
)

// Put implements store.Session.
func (n *session) Put(ctx context.Context, d store.Doc) (store.Version, error) {
	return n.write(ctx, func(ctx context.Context) (store.Version, error) { return n.Session.Put(ctx, d) })
}

// Renew implements store.Renewer.
func (n *session) Renew(ctx context.Context, d store.Doc) (store.Version, error) {
	return n.write(ctx, func(ctx context.Context) (store.Version, error) { return n.Session.Renew(ctx, d) })
}

func (n *session) write(
	ctx context.Context, put func(context.Context) (store.Version, error),
) (store.Version, error) {
	v, err := call(ctx, n.of.Bare, changes, put)
	if errors.Is(err, store.ErrClosed) && !errors.Is(err, store.ErrUnknown) {
		err = n.of.placed(store.ErrSession) // it ended with its handle
	}
	return v, err
}

// Close implements store.Session.
func (n *session) Close(ctx context.Context) error {
	err := n.of.change(ctx, func(ctx context.Context) error { return n.Session.Close(ctx) })
	if errors.Is(err, store.ErrClosed) {
		return nil // Close of the handle told the store
	}
	return err
}

// Endable is a handle without sessions. What it has written to a document another process can end, by a tombstone.
type Endable struct {
	*Bare

	mu    sync.Mutex
	swept map[string]bool // prefixes below which tombstones are freed
}

var (
	_ store.Endable      = (*Endable)(nil)
	_ store.SessionEnder = (*Endable)(nil)
)

// NewEndable makes a handle of a driver, which is the handle's to close.
func NewEndable(d engine.Driver, o Options) *Endable {
	return &Endable{Bare: NewBare(d, o), swept: map[string]bool{}}
}

// Watched is an Endable on a store that has watches.
type Watched struct{ *Endable }

var (
	_ store.Watcher    = (*Watched)(nil)
	_ store.LogWatcher = (*Watched)(nil)
)

// NewWatched makes a handle of a driver, which is the handle's to close.
func NewWatched(d engine.Driver, o Options) *Watched { return &Watched{NewEndable(d, o)} }

// EndKey implements store.Endable. From now on the handle frees tombstones in the folders of docs: others may have been
// ended there.
func (s *Endable) EndKey(docs ...string) store.EndKey {
	for _, doc := range docs {
		folder, _, _ := strings.Cut(doc, "/")
		s.sweep(folder + "/")
	}
	return store.EndKey{Text: s.docs.Life() + " " + strings.Join(docs, " ")}
}

// EndSession implements store.SessionEnder. A create that the dead process has sent before meets a tombstone.
func (s *Endable) EndSession(ctx context.Context, key string) error {
	life, docs, ok := strings.Cut(key, " ")
	if !ok || len(life) != lifeLength {
		return s.placed(errors.New("end what another process has written: the key is not of a store without sessions"))
	}
	return s.change(ctx, func(ctx context.Context) error { return s.docs.End(ctx, life, strings.Fields(docs)...) })
}

// sweep frees tombstones below a prefix now and then, while the handle is open.
func (s *Endable) sweep(prefix string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.swept[prefix] {
		return
	}
	s.swept[prefix] = true
	sweeper := s.docs.Sweeper(prefix)
	s.life.Begin(func() {
		tick := time.NewTicker(engine.Quiet)
		defer tick.Stop()
		for {
			select {
			case <-s.life.Ctx.Done():
				return
			case <-tick.C:
				_ = sweeper.Sweep(s.life.Ctx) // what is left the next sweep finds
			}
		}
	})
}
