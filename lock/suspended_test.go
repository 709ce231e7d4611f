package lock_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rota-run/rota/lock"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store/memory"
)

// TestASuspendedMachineLosesItsLocks: timers of the process stand still while its machine is suspended, the clock of leases does not. What asks right after it woke,
// before any timer has fired, finds the lock lost.
func TestASuspendedMachineLosesItsLocks(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var slept atomic.Int64
		clock := protocol.NewProcessClock()
		c, err := lock.NewClient(memory.New().Open(), lock.Options{TTL: 10 * time.Second, Clock: func() protocol.Instant { return clock().Add(time.Duration(slept.Load())) }})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close(deadline(t))
		held := acquire(t, c.Lock("x"))
		select {
		case <-held.Context().Done():
			t.Fatal("lost at once")
		default:
		}
		slept.Store(int64(time.Hour))
		select {
		case <-held.Context().Done():
		default:
			t.Error("Done is open after an hour of suspension")
		}
		if err := held.Err(); !errors.Is(err, lock.ErrLost) {
			t.Errorf("after an hour of suspension: %v, want %v", err, lock.ErrLost)
		}
	})
}
