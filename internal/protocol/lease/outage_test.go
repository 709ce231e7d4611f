package lease

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// outageTTL is the TTL of the members of an outage.
const outageTTL = 2 * time.Second

// inOutages lets four members with 24 partitions live through outages that are longer than all leases: they end at
// other moments of the members' rhythm.
func inOutages(t *testing.T, in func(*crowd)) {
	t.Helper()
	for ms := range 24 {
		synctest.Test(t, func(t *testing.T) {
			c := newCrowd(t, 4, outageTTL)
			defer c.end()
			c.submit(24)
			time.Sleep(6 * outageTTL) // waits: in virtual time, until all is quiet
			c.server.away.Store(true)
			time.Sleep(3*outageTTL + time.Duration(13*ms)*time.Millisecond) // waits: in virtual time
			if n := c.running(); n > 0 {
				t.Errorf("%d run when no lease is valid any more", n)
			}
			in(c)
		})
	}
}

// sessions are the keys of the heartbeats that are there.
func (c *crowd) sessions() (keys []string) {
	c.t.Helper()
	docs, err := c.docs.List(context.Background(), nodePrefix)
	if err != nil {
		c.t.Fatal(err)
	}
	for _, d := range docs {
		keys = append(keys, d.Key)
	}
	return keys
}

// back ends an outage, and returns how long it takes until all runs.
func (c *crowd) back() time.Duration {
	c.t.Helper()
	from := time.Now()
	c.server.away.Store(false)
	c.until("all run", func() bool { return c.running() == 24 })
	return time.Since(from)
}

// TestAnOutageChangesNothing: where the store was away for longer than all leases, each goes on with what it had as
// soon as its renewal is acknowledged, which it tries at each poll. Nobody takes the silence of others for their death.
func TestAnOutageChangesNothing(t *testing.T) {
	t.Parallel()
	inOutages(t, func(c *crowd) {
		before, leader := c.sessions(), c.leads()
		if took := c.back(); took > outageTTL/20+2*trip {
			c.t.Errorf("all run %s after it, want at most %s", took, outageTTL/20+2*trip)
		}
		time.Sleep(3 * outageTTL) // waits: in virtual time, for what others may have concluded
		if after := c.sessions(); !slices.Equal(before, after) || c.leads() != leader {
			c.t.Errorf("%s leads, the sessions are %q, and %s led of %q", c.leads(), after, leader, before)
		}
	})
}

// TestADeathInAnOutage: who died meanwhile without a guardian is counted out four polls after it, and its partitions
// run elsewhere.
func TestADeathInAnOutage(t *testing.T) {
	t.Parallel()
	inOutages(t, func(c *crowd) {
		c.dead[2].Store(true)
		took := c.back()
		c.t.Logf("all run %s after it", took)
		if least, most := 4*outageTTL/20, 8*outageTTL/20+20*trip; took < least || took > most {
			c.t.Errorf("all run %s after it, want %s to %s", took, least, most)
		}
	})
}
