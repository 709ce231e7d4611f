package lock_test

import (
	"slices"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/lock"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
)

// guard is a guardian's end in this process.
type guard struct {
	t        *testing.T
	watch    store.Docs
	sessions map[store.Session][]string
}

func (g *guard) Guard(s store.Session, docs ...string) {
	if slices.Contains(heartbeatKeys(g.t, g.watch), docs[0]) {
		g.t.Error("the guardian hears of a session that has a document already")
	}
	g.sessions[s] = docs
}

func (g *guard) Release(s store.Session) {
	select {
	case <-s.Done():
	default:
		if !slices.Contains(heartbeatKeys(g.t, g.watch), g.sessions[s][0]) {
			g.t.Error("a session is closed before the guardian hears of it")
		}
	}
	delete(g.sessions, s)
}

func (g *guard) State() string { return "on" }

// TestAGuardianFreesLocks: what a process holds is free as soon as its guardian has ended its session, not after its TTL; and a guardian has nothing left to end
// when the client was closed.
func TestAGuardianFreesLocks(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const ttl = time.Minute
		server := memory.New()
		g := &guard{t: t, watch: server.Open(), sessions: make(map[store.Session][]string)}
		c := client(t, server.Open(), lock.Options{TTL: ttl, Guard: g})
		first := acquire(t, c.Lock("x"))
		if len(g.sessions) != 1 {
			t.Fatalf("the guardian knows of %d sessions", len(g.sessions))
		}
		start := time.Now()
		for s, docs := range g.sessions {
			if keys := heartbeatKeys(t, g.watch); len(docs) != 1 || len(keys) != 1 || docs[0] != keys[0] {
				t.Errorf("the guardian knows of %q, there are %q", docs, keys)
			}
			time.AfterFunc(time.Second, func() { must.Succeed(t, s.Close(deadline(t))) }) // as the guardian does for a dead process
		}
		next := acquire(t, client(t, server.Open(), lock.Options{TTL: ttl}).Lock("x"))
		if waited := time.Since(start); waited > 2*time.Second || next.Token() != first.Token()+1 {
			t.Errorf("token %d after %v, of a TTL of %v", next.Token(), waited, ttl)
		}
		must.Succeed(t, next.Release(deadline(t)))
		acquire(t, c.Lock("x"))
		must.Succeed(t, c.Close(deadline(t)))
		if len(g.sessions) != 0 {
			t.Errorf("the guardian knows of %d sessions of a client that was closed", len(g.sessions))
		}
	})
}
