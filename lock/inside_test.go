package lock

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store/memory"
)

// TestALeaseEndsOnce: by its alarm, also where that has rung too early; and an answer that comes later makes it no
// longer.
func TestALeaseEndsOnce(t *testing.T) {
	t.Parallel()
	for name, early := range map[string]bool{"in time": false, "the alarm rings early": true} {
		synctest.Test(t, func(t *testing.T) {
			c, err := NewClient(memory.New().Open(), Options{Clock: protocol.NewProcessClock()})
			must.Succeed(t, err)
			p := newHeartbeat(c)
			until := c.o.Clock().Add(time.Second)
			p.extend(until)
			if early {
				p.alarm.Stop()
				p.ring()
			}
			time.Sleep(time.Second - time.Nanosecond) // waits: in virtual time
			if synctest.Wait(); p.ctx.Err() != nil || !p.valid() {
				t.Errorf("%s: it is over before its end", name)
			}
			time.Sleep(time.Nanosecond) // waits: in virtual time
			if synctest.Wait(); p.ctx.Err() == nil {
				t.Errorf("%s: nobody was told of its end", name)
			}
			if p.extend(until.Add(time.Minute)); p.valid() || p.until != until {
				t.Errorf("%s: a late answer has made it longer", name)
			}
		})
	}
	clock := protocol.Instant(1)
	p := newHeartbeat(&Client{o: Options{Clock: func() protocol.Instant { return clock }}})
	p.extend(10)
	clock = 20 // suspended: no alarm has rung
	if p.extend(30); p.until != 10 || p.ctx.Err() == nil {
		t.Errorf("an answer that came after the end of a lease: it lasts until %d", p.until)
	}
}
