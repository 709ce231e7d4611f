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
	quiet   bool          // no hint of a renewal, but of the end of a heartbeat: file, PostgreSQL
	expires bool          // a session ends when its owner is silent, and not before that when it dies: etcd, NATS, ZooKeeper without a guardian
	plain   bool          // no hints, no sessions: Elasticsearch
	crash   time.Duration // until others run what a dead process ran
}

var kinds = []kind{
	{name: "hints", crash: 500 * time.Millisecond},
	{name: "quiet", quiet: true, crash: 500 * time.Millisecond},
	{name: "expiring", expires: true, crash: timesTTL + 500*time.Millisecond},
	{name: "plain", plain: true, crash: timesTTL + 500*time.Millisecond},
}

// kindly is a handle of such a store.
type kindly struct {
	*memory.Store
	kind kind
}

func isHeartbeat(prefix string) bool {
	return strings.HasPrefix(prefix, protocol.HeartbeatPrefix) || strings.HasPrefix(prefix, "node/") // as lease names them
}

// Watch implements store.Watcher.
func (k *kindly) Watch(ctx context.Context, prefix string) (<-chan struct{}, error) {
	hints, err := k.Store.Watch(ctx, prefix)
	if err != nil || !k.kind.quiet || !isHeartbeat(prefix) {
		return hints, err
	}
	fewer := make(chan struct{}, 1)
	go func() {
		defer close(fewer)
		was := "first"
		for range hints {
			if keys := k.keys(prefix); keys != was {
				was = keys
				select {
				case fewer <- struct{}{}:
				default:
				}
			}
		}
	}()
	return fewer, nil
}

// keys are those that are there.
func (k *kindly) keys(prefix string) string {
	docs, err := k.List(context.Background(), prefix)
	if err != nil {
		return err.Error()
	}
	var keys []string
	for _, d := range docs {
		keys = append(keys, d.Key)
	}
	return strings.Join(keys, " ")
}

// SessionsExpire implements store.Sessions.
func (k *kindly) SessionsExpire() bool { return k.kind.expires }

// OpenSession implements store.Sessions.
func (k *kindly) OpenSession(ctx context.Context, ttl time.Duration) (store.Session, error) {
	if !k.kind.expires {
		return k.Store.OpenSession(ctx, ttl)
	}
	s, err := k.Store.OpenSession(ctx, ttl)
	if err != nil {
		return nil, err
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

// without hides the abilities that a store with documents and a log alone does not have.
type without struct {
	protocol.Store
	store.Log
}
