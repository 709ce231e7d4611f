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

// heartbeats are the keys of the heartbeats in the store.
func heartbeatKeys(t *testing.T, s store.Docs) []string {
	t.Helper()
	docs, err := s.List(deadline(t), "lock-pulse/")
	must.Succeed(t, err)
	var keys []string
	for _, d := range docs {
		keys = append(keys, d.Key)
	}
	return keys
}

// TestHeartbeatIsRemoved: a heartbeat is there while something is held, and goes when its client is closed.
func TestHeartbeatIsRemoved(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for _, heartbeats := range []bool{false, true} {
			server := memory.New()
			c := client(t, server.Open(), lock.Options{NoSessions: heartbeats})
			if n := len(heartbeatKeys(t, server.Open())); n != 0 {
				t.Errorf("%d heartbeats before anything was held", n)
			}
			acquire(t, c.Lock("x"))
			if n := len(heartbeatKeys(t, server.Open())); n != 1 {
				t.Errorf("%d heartbeats while something is held", n)
			}
			must.Succeed(t, c.Close(deadline(t)))
			if n := len(heartbeatKeys(t, server.Open())); n != 0 {
				t.Errorf("%d heartbeats after the client was closed", n)
			}
		}
	})
}

// TestHeartbeatIsSwept: a heartbeat that nobody needs goes after three TTLs, and then the next lock begins another one; and the heartbeat of a dead process is removed
// within two sweeps, which are ten TTLs apart, by any process that holds something else.
func TestHeartbeatIsSwept(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const ttl = 300 * time.Millisecond
		server := memory.New()
		witness := server.Open()
		o := lock.Options{TTL: ttl, NoSessions: true}
		handle := server.Open()
		c := client(t, handle, o)
		held := acquire(t, c.Lock("x"))
		must.Succeed(t, held.Release(deadline(t)))
		await(t, 4*ttl, "the heartbeat that nobody needs is gone", func() bool { return len(heartbeatKeys(t, witness)) == 0 })
		acquire(t, c.Lock("y"))
		dead := heartbeatKeys(t, witness)
		if len(dead) != 1 {
			t.Fatalf("heartbeats %q, want one", dead)
		}
		handle.Close()                                             // like kill -9; nobody wants y
		other := acquire(t, client(t, server.Open(), o).Lock("z")) // holding keeps the heartbeat, and with it the sweeps
		await(t, 21*ttl, "the heartbeat of the dead process is gone", func() bool { return !slices.Contains(heartbeatKeys(t, witness), dead[0]) })
		if err := other.Err(); err != nil {
			t.Errorf("the sweeper: %v", err)
		}
	})
}

// await waits in virtual time until something is so.
func await(t *testing.T, within time.Duration, what string, holds func() bool) {
	t.Helper()
	for begin := time.Now(); !holds(); time.Sleep(time.Millisecond) { // waits: in virtual time
		if time.Since(begin) > within {
			t.Fatalf("not within %s: %s", within, what)
		}
	}
}
