package protocoltest

import (
	"context"
	"strings"
	"time"

	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
)

// kind is what a store tells of heartbeats by itself.
type kind struct {
	name    string
	quiet   bool // it hints at the end of a heartbeat, and not at renewals
	expires bool // it ends the session of a silent process, and not before that of a dead one
	plain   bool // no hints, no sessions
}

var kinds = []kind{
	{name: "memory"},
	{name: "as file and PostgreSQL", quiet: true},
	{name: "as etcd, NATS and ZooKeeper", expires: true},
	{name: "as Elasticsearch", plain: true},
}

// without hides all that such a store does not have. It reads many documents in one request, with the log too.
type without struct {
	protocol.Store
	store.Log
	store.GetMany
	inner store.GetMany // of the same handle, whose calls are not counted
}

// ReadWith implements store.LogWith.
func (w without) ReadWith(ctx context.Context, after uint64, limit int,
	keys []string) (store.Page, []store.Doc, error) {
	page, err := w.Read(ctx, after, limit)
	if err != nil {
		return page, nil, err
	}
	docs, err := w.inner.Gets(ctx, keys)
	return page, docs, err
}

// kindly is a handle of a store of some kind.
type kindly struct {
	*memory.Store
	kind kind
}

func isHeartbeat(key string) bool {
	return strings.HasPrefix(key, protocol.HeartbeatPrefix) || strings.HasPrefix(key, "node/") // as lease names them
}

// Watch implements store.Watcher.
func (k *kindly) Watch(ctx context.Context, prefix string) (<-chan struct{}, error) {
	hints, err := k.Store.Watch(ctx, prefix)
	if err != nil || !k.kind.quiet || !isHeartbeat(prefix) {
		return hints, err
	}
	ends := make(chan struct{}, 1)
	go func() {
		defer close(ends)
		was := "nothing yet"
		for range hints {
			keys := k.keys(prefix)
			if keys == was {
				continue
			}
			was = keys
			select {
			case ends <- struct{}{}:
			default:
			}
		}
	}()
	return ends, nil
}

// keys are those of the documents that are there.
func (k *kindly) keys(prefix string) string {
	docs, err := k.List(context.Background(), prefix)
	if err != nil {
		return err.Error()
	}
	keys := ""
	for _, d := range docs {
		keys += d.Key + " "
	}
	return keys
}

// SessionsExpire implements store.Sessions.
func (k *kindly) SessionsExpire() bool { return k.kind.expires }

// OpenSession implements store.Sessions.
func (k *kindly) OpenSession(ctx context.Context, ttl time.Duration) (store.Session, error) {
	s, err := k.Store.OpenSession(ctx, ttl)
	if err != nil || !k.kind.expires {
		return s, err
	}
	return &expiring{s, ttl, time.AfterFunc(ttl, func() { _ = s.Close(context.Background()) })}, nil
}

// expiring is a session that ends when it has not been used for its TTL.
type expiring struct {
	store.Session
	ttl time.Duration
	end *time.Timer
}

// Put implements store.Session.
func (s *expiring) Put(ctx context.Context, d store.Doc) (store.Version, error) {
	v, err := s.Session.Put(ctx, d)
	if err == nil {
		s.end.Reset(s.ttl)
	}
	return v, err
}
