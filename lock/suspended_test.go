package lock_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rota-run/rota/lock"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
)

// TestASuspendedMachineLosesItsLocks: timers of the process stand still while its machine is suspended, the clock of leases does not. What asks right after it woke,
// before any timer has fired, finds the lock lost, whichever way it asks.
func TestASuspendedMachineLosesItsLocks(t *testing.T) {
	for name, lost := range map[string]func(h *lock.Held) bool{
		"Done":        func(h *lock.Held) bool { return closed(h.Context().Done()) },
		"Context.Err": func(h *lock.Held) bool { return h.Context().Err() != nil },
		"Err":         func(h *lock.Held) bool { return errors.Is(h.Err(), lock.ErrLost) },
	} {
		t.Run(name, func(t *testing.T) { bubble(t, func(t *testing.T) { suspend(t, lost) }) })
	}
}

func suspend(t *testing.T, lost func(h *lock.Held) bool) {
	t.Helper()
	var slept atomic.Int64
	clock := protocol.NewProcessClock()
	c, err := lock.NewClient(memory.New().Open(), lock.Options{TTL: 10 * time.Second, Clock: func() protocol.Instant { return clock().Add(time.Duration(slept.Load())) }})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(deadline(t))
	held := acquire(t, c.Lock("x"))
	if lost(held) {
		t.Fatal("lost at once")
	}
	slept.Store(int64(time.Hour))
	if !lost(held) {
		t.Error("held after an hour of suspension")
	}
	if err := held.Err(); !errors.Is(err, lock.ErrLost) {
		t.Errorf("after an hour of suspension: %v, want %v", err, lock.ErrLost)
	}
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// lateAnswers is a store that writes one heartbeat, answers late, and takes no other.
type lateAnswers struct {
	store.Docs
	late  time.Duration
	asked time.Time // for the first heartbeat
}

func (s *lateAnswers) Put(ctx context.Context, d store.Doc) (store.Version, error) {
	if !strings.HasPrefix(d.Key, "lock-pulse/") {
		return s.Docs.Put(ctx, d)
	}
	if !s.asked.IsZero() {
		return "", store.ErrUnavailable
	}
	s.asked = time.Now()
	v, err := s.Docs.Put(ctx, d)
	time.Sleep(s.late) // waits: virtual time
	return v, err
}

// TestALateAnswerDoesNotProlongTheLease: others may have seen the heartbeat when it was sent, and count from then. So it is lost within a TTL of that, however late the
// answer came.
func TestALateAnswerDoesNotProlongTheLease(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const ttl = 10 * time.Second
		s := &lateAnswers{Docs: memory.New().Open(), late: 3 * time.Second}
		held := acquire(t, client(t, s, lock.Options{TTL: ttl, NoSessions: true}).Lock("x"))
		<-held.Context().Done()
		if d := time.Since(s.asked); d > ttl || d < ttl/2 {
			t.Errorf("held for %v after its heartbeat was sent, of a TTL of %v", d, ttl)
		}
	})
}
