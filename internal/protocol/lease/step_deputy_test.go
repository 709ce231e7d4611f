package lease

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rota-run/rota/internal/protocol/heartbeat"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/protocol"
)

// TestADeputyLeads: the leader is suspended, and another member dies. What that ran is free as soon as the deputy has
// found the leader late, or the dead member silent for long enough: it has watched both all the time.
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
			atRest(t, slow, func(crowd *crowd) {
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
			s.Own.Lease = s.Own.Renewed(s.At, s.Timing)
			s.noteRenewals()
		}
		o := heartbeat.Observation{Key: "node/a/1"}.Read("1", 0, at(0), at(0)).Read("1", 0, at(c.now), at(c.now))
		if s.At = at(c.now); s.late(o) != c.want {
			t.Errorf("%s: late: %t, want %t", name, !c.want, c.want)
		}
	}
}
