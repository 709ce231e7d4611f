package lease

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/heartbeat"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/protocol"
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
			atRest(t, slow, func(crowd *crowd) {
				from := time.Now()
				crowd.kill(c.who, c.guarded)
				crowd.until("all run again", func() bool { return crowd.running() == 24 })
				if took := time.Since(from); took > c.most {
					t.Errorf("all run %s after it, want at most %s", took, c.most)
				}
			})
		})
	}
}

// TestARemovalAsksOnce: what decides whether a member is removed is read in one request, its heartbeat too.
func TestARemovalAsksOnce(t *testing.T) {
	t.Parallel()
	p := newPaper(t)
	p.join("a/1")
	b, beat := p.join("b/1"), nodeKey("b/1")
	p.fence("b/1")
	a := attempt{command: cluster.LeaveCluster{Member: "b", Incarnation: b}, also: []string{beat}, proved: beat}.begin()
	a = a.read(p.get(a.ask...))
	if a = a.decide(learn(a.docs), writer{session: "a/1", write: "w"}); a.ask != nil || a.put.Key != keyNodes {
		t.Errorf("it asks for %q, and writes %q: want the Node List alone", a.ask, a.put.Key)
	}
}

// TestADeputyLeads: the leader is suspended, and another member dies. What that ran is free as soon as the deputy has
// found the leader late, or the dead member silent for long enough: it has watched both all the time. If it was the
// deputy itself that has died, the next one finds the leader late, and those before it dead.
func TestADeputyLeads(t *testing.T) {
	t.Parallel()
	const slow, poll, silence = 40 * time.Millisecond, outageTTL / 20, outageTTL * 1050 / 1000
	for _, c := range []struct {
		name    string
		dies    []int
		guarded bool
		before  time.Duration // the suspension
		most    time.Duration // from the suspension on
	}{
		{"killed", []int{2}, true, 0, silence/2 + poll + 14*slow},
		{"silent", []int{2}, false, outageTTL / 2, silence - outageTTL/2 + poll + 14*slow},
		{"the deputy, too", []int{1, 2}, true, 0, silence/2 + poll + 14*slow},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			atRest(t, slow, func(crowd *crowd) {
				for _, i := range c.dies {
					crowd.kill(i, c.guarded)
				}
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

// TestADeputyFencesNobody: the leader is late, and is back before its lease ends. Another one leads by then, or not,
// and that changes nothing else.
func TestADeputyFencesNobody(t *testing.T) {
	t.Parallel()
	followed := 0
	atRest(t, trip, func(crowd *crowd) {
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

// atRest lets four members with 24 partitions come to rest on a store whose calls take so long: eight times, at other
// moments of their rhythm.
func atRest(t *testing.T, slow time.Duration, then func(*crowd)) {
	t.Helper()
	for n := range 8 {
		synctest.Test(t, func(t *testing.T) {
			crowd := newCrowd(t, 4, outageTTL)
			defer crowd.end()
			crowd.submit(24)
			crowd.server.slow.Store(int64(slow - trip))
			time.Sleep(6*outageTTL + time.Duration(17*n)*time.Millisecond) // waits: in virtual time, until all is quiet
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

// TestWhoIsLate: a heartbeat that has not changed says nothing to a member whose own renewals the store does not take,
// or has just begun to take again.
func TestWhoIsLate(t *testing.T) {
	t.Parallel()
	const ttl, poll = 3 * time.Second, 150 * time.Millisecond
	at := func(d time.Duration) protocol.Instant { return protocol.Instant(time.Minute + d) }
	for name, c := range map[string]struct {
		acked []time.Duration // renewals of ours
		now   time.Duration   // of a look
		want  bool
	}{
		"too early":             {[]time.Duration{-500 * time.Millisecond, 500 * time.Millisecond}, 1574 * time.Millisecond, false},
		"late":                  {[]time.Duration{-500 * time.Millisecond, 500 * time.Millisecond}, 1575 * time.Millisecond, true},
		"ours is as late":       {[]time.Duration{-500 * time.Millisecond}, 1575 * time.Millisecond, false},
		"ours is as late as it": {[]time.Duration{0}, 1575 * time.Millisecond, false},
		"after an outage":       {[]time.Duration{0, 1900 * time.Millisecond}, 1900*time.Millisecond + 4*poll - 1, false},
		"long enough after it":  {[]time.Duration{0, 1900 * time.Millisecond}, 1900*time.Millisecond + 4*poll, true},
		"after one renewal failed": {[]time.Duration{-500 * time.Millisecond, 900 * time.Millisecond},
			1575 * time.Millisecond, true},
	} {
		s := &step{State: &State{Core: coreIn(member.PhaseMember,
			member.Params{Member: "b", Timing: heartbeat.Timing{TTL: ttl, Rho: 50}, Poll: poll})}}
		for _, d := range append([]time.Duration{-1500 * time.Millisecond}, c.acked...) {
			s.At = at(d)
			s.Extend(s.At, 0)
		}
		o := heartbeat.Observation{Key: "node/a/1"}.Read("1", 0, at(0), at(0)).Read("1", 0, at(c.now), at(c.now))
		if s.At = at(c.now); s.Late(o) != c.want {
			t.Errorf("%s: late: %t, want %t", name, !c.want, c.want)
		}
	}
}

// TestNothingIsGivenUpForWhoIsLate: what is free is not for it first, so who gave it up would claim it again at once,
// and give it up again, until the late one is fenced.
func TestNothingIsGivenUpForWhoIsLate(t *testing.T) {
	t.Parallel()
	p := newPaper(t)
	a := p.join("a/1")
	p.offer("x", cluster.TaskSpec{Spread: cluster.SpreadPartitioned, Partitions: []string{"1", "2"}})
	p.claim("x#1", "a/1", a)
	p.claim("x#2", "a/1", a)
	p.join("b/1")
	pass := newPass(learn(p.all()), 0, "pass", former{})
	pass.late = []cluster.MemberID{"b"}
	if stop := pass.board().Stop; len(stop) > 0 {
		t.Errorf("a gives up %v for b, which is late; then it is free, and %q is first", stop, pass.instead("b", 0))
	}
	if pass.late = nil; len(pass.board().Stop) != 1 {
		t.Error("a gives up nothing for b, which is in time")
	}
}
