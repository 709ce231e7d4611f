package lock_test

import (
	"testing"
	"time"

	"github.com/rota-run/rota/lock"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
)

// pulses are the keys of the pulses in the store.
func pulses(t *testing.T, s store.Docs) []string {
	t.Helper()
	docs, err := s.List(deadline(t), "lock-pulse/")
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, d := range docs {
		keys = append(keys, d.Key)
	}
	return keys
}

// TestPulseIsRemoved: a pulse is there while something is held, and goes when its client is closed.
func TestPulseIsRemoved(t *testing.T) {
	t.Parallel()
	for _, heartbeats := range []bool{false, true} {
		server := memory.New()
		c := client(t, server.Open(), lock.Options{NoSessions: heartbeats})
		if n := len(pulses(t, server.Open())); n != 0 {
			t.Errorf("%d pulses before anything was held", n)
		}
		if _, err := c.Lock("x").Acquire(deadline(t)); err != nil {
			t.Fatal(err)
		}
		if n := len(pulses(t, server.Open())); n != 1 {
			t.Errorf("%d pulses while something is held", n)
		}
		if err := c.Close(deadline(t)); err != nil {
			t.Fatal(err)
		}
		if n := len(pulses(t, server.Open())); n != 0 {
			t.Errorf("%d pulses after the client was closed", n)
		}
	}
}

// TestPulseIsSwept: a pulse that nobody needs goes after a while, and then the next lock begins another one; and a dead process's pulse is removed by
// whoever holds something else.
func TestPulseIsSwept(t *testing.T) {
	t.Parallel()
	server := memory.New()
	witness := server.Open()
	o := lock.Options{TTL: 300 * time.Millisecond, NoSessions: true}
	handle := server.Open()
	c := client(t, handle, o)
	held, err := c.Lock("x").Acquire(deadline(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := held.Release(deadline(t)); err != nil {
		t.Fatal(err)
	}
	for len(pulses(t, witness)) > 0 {
		time.Sleep(5 * time.Millisecond) // waits: until nobody has needed it for long enough
	}
	if _, err := c.Lock("y").Acquire(deadline(t)); err != nil {
		t.Fatalf("with a second pulse: %v", err)
	}
	left := pulses(t, witness)
	handle.Close() // like kill -9; nobody wants y
	other := client(t, server.Open(), o).Lock("z")
	for len(left) > 0 && exists(t, witness, left[0]) {
		if h, err := other.TryAcquire(deadline(t)); err == nil { // holding keeps the pulse, and with it the sweeps; it may get lost on a slow machine
			defer h.Release(deadline(t))
		}
		time.Sleep(20 * time.Millisecond) // waits: for ten TTLs
	}
}

func exists(t *testing.T, s store.Docs, key string) bool {
	t.Helper()
	for _, k := range pulses(t, s) {
		if k == key {
			return true
		}
	}
	return false
}
