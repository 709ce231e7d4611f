package lease

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// kill ends a process; its guardian, if it has one, removes its heartbeat at once.
func (c *crowd) kill(i int, guarded bool) {
	c.t.Helper()
	c.dead[i].Store(true)
	for _, key := range c.sessions() {
		if !guarded || !strings.HasPrefix(key, nodePrefix+string(nameOf(i))+"/") {
			continue
		}
		d, err := c.docs.Get(context.Background(), key)
		if err == nil {
			err = c.docs.Delete(context.Background(), key, d.Version)
		}
		if err != nil {
			c.t.Fatal(err)
		}
	}
}

// TestAKillIsSoon: on a store that hints at nothing and whose calls take 40 ms, as those of a busy one, each round trip
// counts that lies between a death and the claims of others. The leader reads what a removal needs in one request,
// takes its own fence for proved, and tells what is free before it surveys.
func TestAKillIsSoon(t *testing.T) {
	t.Parallel()
	const slow, poll, silence = 40 * time.Millisecond, outageTTL / 20, outageTTL * 1050 / 1000
	for _, c := range []struct {
		who     int
		guarded bool
		most    time.Duration
	}{
		{0, true, poll + 13*slow}, // the leader: another one is needed first
		{2, true, poll + 11*slow},
		{2, false, silence + poll + 2*slow},
	} {
		t.Run(fmt.Sprintf("m%d,guarded=%t", c.who, c.guarded), func(t *testing.T) {
			t.Parallel()
			for n := range 8 { // at other moments of the members' rhythm
				synctest.Test(t, func(t *testing.T) {
					crowd := newCrowd(t, 4, outageTTL)
					defer crowd.end()
					crowd.submit(24)
					crowd.server.slow.Store(int64(slow - trip))
					time.Sleep(6*outageTTL + time.Duration(17*n)*time.Millisecond) // waits: in virtual time, until all is quiet
					from := time.Now()
					crowd.kill(c.who, c.guarded)
					crowd.until("all run again", func() bool { return crowd.running() == 24 })
					if took := time.Since(from); took > c.most {
						t.Errorf("all run %s after it, want at most %s", took, c.most)
					}
				})
			}
		})
	}
}

// TestADeputyLeads: the leader is suspended, and another member dies. What that ran is free as soon as the deputy has found the leader late, or the dead member
// silent for long enough: it has watched both all the time.
func TestADeputyLeads(t *testing.T) {
	t.Parallel()
	const slow, poll, silence = 40 * time.Millisecond, outageTTL / 20, outageTTL * 1050 / 1000
	for _, c := range []struct {
		name    string
		guarded bool          // who dies
		before  time.Duration // the suspension
		most    time.Duration // from the suspension on
	}{
		{"killed", true, 0, silence/2 + poll + 13*slow},
		{"silent", false, outageTTL / 2, silence - outageTTL/2 + poll + 14*slow},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			suspended(t, slow, func(crowd *crowd) {
				crowd.kill(2, c.guarded)
				time.Sleep(c.before) // waits: in virtual time
				from := time.Now()
				crowd.dead[0].Store(true)
				crowd.until("all runs but what the leader had", func() bool { return crowd.running() >= 18 })
				if took := time.Since(from); took > c.most {
					t.Errorf("it took %s, want at most %s", took, c.most)
				}
			})
		})
	}
}

// TestADeputyFencesNobody: the leader is late, and is back before its lease ends. Another one leads by then, or not, and that changes nothing else.
func TestADeputyFencesNobody(t *testing.T) {
	t.Parallel()
	followed := 0
	suspended(t, trip, func(crowd *crowd) {
		before, was := crowd.sessions(), crowd.leads()
		crowd.dead[0].Store(true)
		time.Sleep(outageTTL * 5 / 8) // waits: in virtual time
		crowd.dead[0].Store(false)
		crowd.until("all run", func() bool { return crowd.running() == 24 })
		if is := crowd.leads(); is != was {
			followed++
		}
		time.Sleep(3 * outageTTL) // waits: in virtual time, for what others may have concluded
		if after := crowd.sessions(); !slices.Equal(before, after) || crowd.running() != 24 || crowd.longest() > 0 {
			t.Errorf("%d run, and the sessions are %q, and were %q", crowd.running(), after, before)
		}
	})
	if followed == 0 {
		t.Error("nobody has followed the leader: the story is another one")
	}
}

// suspended lets four members with 24 partitions come to rest, at other moments of their rhythm, on a store whose calls take so long.
func suspended(t *testing.T, slow time.Duration, then func(*crowd)) {
	t.Helper()
	for n := range 8 {
		synctest.Test(t, func(t *testing.T) {
			crowd := newCrowd(t, 4, outageTTL)
			defer crowd.end()
			crowd.submit(24)
			crowd.server.slow.Store(int64(slow - trip))
			time.Sleep(6*outageTTL + time.Duration(31*n)*time.Millisecond) // waits: in virtual time, until all is quiet
			crowd.longest()
			then(crowd)
		})
	}
}

// leads is the session that leads.
func (c *crowd) leads() string {
	c.t.Helper()
	d, err := c.docs.Get(context.Background(), keyLeader)
	l, damaged := read[leaderDoc](d)
	if err != nil || damaged != nil {
		c.t.Fatal(err, damaged)
	}
	return l.Holder
}
