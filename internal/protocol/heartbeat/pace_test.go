package heartbeat_test

import (
	"testing"
	"time"

	"github.com/rota-run/rota/internal/protocol/heartbeat"
)

// paced is the timing of an owner that may state up to eight times its usual TTL.
func paced() heartbeat.Timing {
	return heartbeat.Timing{TTL: ttl, Longest: heartbeat.Slowest * ttl, Rho: rho}
}

// TestAShorterTTLCountsAtOnce: a longer TTL counts when it is acknowledged, a shorter one as soon as it may have been
// stored.
func TestAShorterTTLCountsAtOnce(t *testing.T) {
	t.Parallel()
	usual, longer := paced(), paced().Of(4*ttl)
	l := heartbeat.Lease{}.Renewed(at(0), usual)
	l = l.Sending(at(ttl/3), longer)
	if got := l.Until(usual); got != at(usual.Valid()) {
		t.Errorf("with a longer TTL on its way: until %d, want %d", got, at(usual.Valid()))
	}
	if got, want := l.Wait(longer), ttl/3; got != want {
		t.Errorf("the call that may make it longer: %s, want %s", got, want)
	}
	l = l.Renewed(at(ttl/3), longer)
	if got, want := l.Until(usual), at(ttl/3+longer.Valid()); got != want || l.Next != at(ttl/3+4*ttl/3) {
		t.Errorf("with a longer TTL: until %d, want %d; next %d", got, want, l.Next)
	}
	l = l.Sending(at(2*ttl), usual).Sending(at(5*ttl/2), usual)
	if got, want := l.Until(usual), at(2*ttl+usual.Valid()); got != want {
		t.Errorf("with a shorter TTL on its way: until %d, want %d", got, want)
	}
	if l = l.Renewed(at(5*ttl/2), usual); l.Until(usual) != at(5*ttl/2+usual.Valid()) {
		t.Errorf("with a shorter TTL: until %d", l.Until(usual))
	}
}

// TestPaceOfSlowRenewals: the TTL doubles after three slow answers in a row, up to eight times, and halves after a long
// time of quick ones.
func TestPaceOfSlowRenewals(t *testing.T) {
	t.Parallel()
	var p heartbeat.Pace
	now := at(0)
	answer := func(took time.Duration, done bool) {
		now = now.Add(p.TTL(paced()) / 3)
		p = p.Answered(p.TTL(paced()), took, done, now, paced())
	}
	want := func(why string, times int) {
		t.Helper()
		if got := p.TTL(paced()); got != time.Duration(times)*ttl {
			t.Fatalf("%s: %s, want %d times %s", why, got, times, ttl)
		}
	}
	for range 10 {
		answer(ttl/3, true)
		answer(ttl/3, false)
		answer(0, false) // the store refuses: it is not slow
	}
	want("never three in a row", 1)
	for _, times := range []int{2, 4, 8, 8} {
		for range 3 {
			answer(p.TTL(paced())/3, false)
		}
		want("three in a row", times)
	}
	for range 1000 {
		answer(p.TTL(paced())/10, true)
	}
	want("neither slow nor quick", 8)
	for range 1000 {
		answer(0, false)
	}
	want("refused at once, which is not quick", 8)
	for _, times := range []int{4, 2, 1, 1} {
		for range 59 {
			answer(0, true)
		}
		want("before the calm time is over", 2*times)
		for range 2 {
			answer(0, true)
		}
		if want("after a calm time", times); times == 1 {
			return
		}
		p.Calm = now
	}
}

// TestPaceOfALostLease: the next epoch has twice the TTL, if the present one was tried.
func TestPaceOfALostLease(t *testing.T) {
	t.Parallel()
	usual := paced()
	held := heartbeat.Lease{}.Renewed(at(0), usual)
	lost := func(p heartbeat.Pace, l heartbeat.Lease) heartbeat.Pace {
		return p.Lost(l, max(ttl, l.TTL)/3, at(ttl), usual)
	}
	if p := (heartbeat.Pace{}).Lost(held, 0, at(ttl), usual); p.TTL(usual) != ttl {
		t.Errorf("nothing was slow: %s", p.TTL(usual))
	}
	if p := (heartbeat.Pace{Slow: 1}).Lost(held, 0, at(ttl), usual); p.TTL(usual) != 2*ttl {
		t.Errorf("the last answer was slow: %s", p.TTL(usual))
	}
	p := lost(heartbeat.Pace{}, heartbeat.Lease{})
	if got := p.TTL(usual); got != ttl {
		t.Errorf("a lease that was never held: %s", got)
	}
	if p = lost(p, held); p.TTL(usual) != 2*ttl {
		t.Errorf("the first one: %s", p.TTL(usual))
	}
	if p = lost(p, held); p.TTL(usual) != 2*ttl {
		t.Errorf("one whose store allowed no longer TTL: %s", p.TTL(usual))
	}
	for range 5 {
		p = lost(p, held.Renewed(at(0), usual.Of(p.TTL(usual))))
	}
	if got := p.TTL(usual); got != heartbeat.Slowest*ttl {
		t.Errorf("many: %s", got)
	}
	usual.Longest = 0
	if p := lost(heartbeat.Pace{}, held); p != (heartbeat.Pace{}) || p.TTL(usual) != ttl {
		t.Errorf("a TTL that never changes: %+v", p)
	}
}
