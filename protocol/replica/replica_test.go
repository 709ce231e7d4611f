package replica

import (
	"context"
	"github.com/rota-run/rota/protocol"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol/protocoltest"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/file"
	"github.com/rota-run/rota/store/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// gate is a store that can be away from one member.
type gate struct {
	Store
	shut atomic.Bool
}

func (g *gate) check() error {
	if g.shut.Load() {
		return store.ErrUnavailable
	}
	return nil
}

func (g *gate) Get(ctx context.Context, key string) (store.Doc, error) {
	if err := g.check(); err != nil {
		return store.Doc{}, err
	}
	return g.Store.Get(ctx, key)
}

func (g *gate) Put(ctx context.Context, d store.Doc) (store.Version, error) {
	if err := g.check(); err != nil {
		return "", err
	}
	return g.Store.Put(ctx, d)
}

func (g *gate) List(ctx context.Context, prefix string) ([]store.Doc, error) {
	if err := g.check(); err != nil {
		return nil, err
	}
	return g.Store.List(ctx, prefix)
}

func (g *gate) Append(ctx context.Context, data []byte) (uint64, error) {
	if err := g.check(); err != nil {
		return 0, err
	}
	return g.Store.Append(ctx, data)
}

func (g *gate) Read(ctx context.Context, after uint64, limit int) (store.Page, error) {
	if err := g.check(); err != nil {
		return store.Page{}, err
	}
	return g.Store.Read(ctx, after, limit)
}

// sessionGate is a gate to a store with sessions and watches.
type sessionGate struct {
	*gate
	store.Sessions
	store.Watcher
	store.LogWatcher
}

func (g sessionGate) OpenSession(ctx context.Context, ttl time.Duration) (store.Session, error) {
	if err := g.check(); err != nil {
		return nil, err
	}
	s, err := g.Sessions.OpenSession(ctx, ttl)
	return gatedSession{s, g.gate}, err
}

type gatedSession struct {
	store.Session
	g *gate
}

func (s gatedSession) Put(ctx context.Context, d store.Doc) (store.Version, error) {
	if err := s.g.check(); err != nil {
		return "", err
	}
	return s.Session.Put(ctx, d)
}

// tell logs what took members out, for the reader of a failed story.
func tell(t *testing.T, id cluster.MemberID) Events {
	return Events{Applied: func(v cluster.Value, entries []protocol.Applied) {
		for _, a := range entries {
			for i, c := range a.Entry.Commands {
				switch c.(type) {
				case cluster.LeaveCluster, cluster.AbortJoin, cluster.ConfirmMember, cluster.PrepareJoin:
					t.Logf("%s applies %d %s %v %v", id, a.Entry.Index, a.Entry.Writer, c, a.Results[i])
				}
			}
		}
	}}
}

type full interface {
	Store
	store.Sessions
	store.Watcher
	store.LogWatcher
}

// handle makes a member on a store that can be shut.
func handle(t *testing.T, st full, id cluster.MemberID, ttl time.Duration, noSessions bool) protocoltest.Handle {
	t.Helper()
	g := &gate{Store: st}
	m, err := New(Config{Member: id, Store: sessionGate{g, st, st, st}, TTL: ttl, NoSessions: noSessions, SnapshotEvery: 20, Events: tell(t, id)})
	if err != nil {
		t.Fatal(err)
	}
	return protocoltest.Handle{Member: m, Crash: func() { _ = st.Close() }, Away: g.shut.Store}
}

func onMemory(noSessions bool) func(t *testing.T) func(*testing.T, cluster.MemberID, time.Duration) protocoltest.Handle {
	return func(*testing.T) func(*testing.T, cluster.MemberID, time.Duration) protocoltest.Handle {
		srv := memory.New()
		return func(t *testing.T, id cluster.MemberID, ttl time.Duration) protocoltest.Handle {
			return handle(t, srv.Open(), id, ttl, noSessions)
		}
	}
}

func TestStoriesOnMemory(t *testing.T) {
	t.Parallel()
	protocoltest.Run(t, protocoltest.Setup{Open: onMemory(false), TTL: 2 * time.Second, Many: 30})
}

// TestStoriesWithHeartbeatsAlone is the protocol on stores without sessions.
func TestStoriesWithHeartbeatsAlone(t *testing.T) {
	t.Parallel()
	protocoltest.Run(t, protocoltest.Setup{Open: onMemory(true), TTL: 2 * time.Second})
}

func TestStoriesOnFile(t *testing.T) {
	t.Parallel()
	open := func(t *testing.T) func(*testing.T, cluster.MemberID, time.Duration) protocoltest.Handle {
		dir := t.TempDir()
		return func(t *testing.T, id cluster.MemberID, ttl time.Duration) protocoltest.Handle {
			st, err := file.Open(t.Context(), dir, file.Options{})
			if err != nil {
				t.Fatal(err)
			}
			return handle(t, st, id, ttl, false)
		}
	}
	protocoltest.Run(t, protocoltest.Setup{Open: open, TTL: 2 * time.Second})
}
