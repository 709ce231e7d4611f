package heartbeat_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/protocol/heartbeat"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

const (
	ttl     = time.Second
	silence = ttl * 1050 / 1000
)

func at(d time.Duration) protocol.Instant { return protocol.Instant(1).Add(d) }

// TestTiming: the owner stops before the others may begin, and renews three times before that.
func TestTiming(t *testing.T) {
	t.Parallel()
	timing := heartbeat.Timing{TTL: ttl, Rho: 50, Margin: 20 * time.Millisecond}
	waits := heartbeat.Asking{Busy: true, Asked: at(ttl)}.Waited(at(3 * ttl))
	if got := []time.Duration{timing.Valid(), timing.Silence(), timing.Every(), waits, heartbeat.Asking{}.Waited(at(1)),
		time.Duration(timing.Lengthened(ttl)), time.Duration(timing.Lengthened(2 * ttl))}; !slices.Equal(got,
		[]time.Duration{930 * time.Millisecond, silence, ttl / 3, 2 * ttl, 0, 0, 2000}) {
		t.Errorf("valid, silence, every, waited twice, lengthened twice: %d", got)
	}
}

// TestALeaseLapses: it counts from before the newest acknowledged renewal was sent.
func TestALeaseLapses(t *testing.T) {
	t.Parallel()
	timing := heartbeat.Timing{TTL: ttl, Rho: 50}
	var l heartbeat.Lease
	if l.Until(timing) != 0 || l.Lapsed(at(time.Hour), timing) {
		t.Errorf("before the first renewal: %+v", l)
	}
	l = l.Renewed(at(ttl), timing)
	if l.Next != at(ttl+ttl/3) || l.Until(timing) != at(ttl+timing.Valid()) {
		t.Errorf("renewed at %s: %+v", ttl, l)
	}
	if late := l.Renewed(at(0), timing); late.Until(timing) != l.Until(timing) {
		t.Errorf("an older renewal that is acknowledged later: %+v", late)
	}
	if end := l.Until(timing); l.Lapsed(end-1, timing) || !l.Lapsed(end, timing) {
		t.Errorf("it does not lapse at %d", end)
	}
}

// TestARead proves what was there when it was sent, not when it was answered.
func TestARead(t *testing.T) {
	t.Parallel()
	o := heartbeat.Observation{Key: "p"}
	if o.Dead(silence) || o.Gone() {
		t.Error("dead though nobody has looked")
	}
	if o = o.Read("1", ttl, at(0), at(time.Millisecond)); o.Looked != o.Since {
		t.Errorf("it was looked at at %d, before it was seen at %d", o.Looked, o.Since)
	}
	for name, c := range map[string]struct {
		heartbeat.Observation
		dead, gone bool
	}{
		"an answer that came late": {o.Read("1", ttl, at(time.Millisecond), at(time.Hour)), false, false},
		"the same after two TTLs":  {o.Read("1", ttl, at(2*ttl), at(2*ttl)), true, false},
		"it has changed":           {o.Read("2", ttl, at(2*ttl), at(2*ttl)), false, false},
		"it is gone":               {o.Read("", 0, at(0), at(2*time.Millisecond)), true, true},
		"a list leaves it out":     {o.NotInList(), false, false},
		"a list has another one":   {o.Read("1", ttl, at(2*ttl), at(2*ttl)).InList("0", ttl, at(2*ttl)), false, false},
	} {
		if c.Dead(silence) != c.dead || c.Gone() != c.gone {
			t.Errorf("%s: dead %t, gone %t: %+v", name, c.Dead(silence), c.Gone(), c.Observation)
		}
	}
}

// TestWhereNothingHints a renewal is seen within a quarter of a poll; what is silent is asked for at each poll.
func TestWhereNothingHints(t *testing.T) {
	t.Parallel()
	const poll = ttl / 5
	timing := heartbeat.Timing{TTL: ttl, Rho: rho}
	o := heartbeat.Observation{Key: "p"}.Read("1", ttl, at(0), at(0)).Read("2", ttl, at(ttl/3), at(ttl/3))
	every := timing.Every()
	for since, pause := range map[time.Duration]time.Duration{every: poll / 4, every + poll/2: poll / 4,
		every + poll + 1: poll} {
		o := o.Read("2", ttl, at(ttl/3+since), at(ttl/3+since))
		if got := o.Soon(timing, poll).Sub(o.Last); got != pause {
			t.Errorf("%s after a renewal it is looked at after %s, want %s", since, got, pause)
		}
	}
}

// Whoever has a longer TTL than usual, because its renewals are slow, is looked at as often as usual: the hint of its
// end may be lost.
func TestASlowOneIsLookedAtAsOften(t *testing.T) {
	t.Parallel()
	timing, poll := heartbeat.Timing{TTL: 6 * time.Second, Rho: 50}, 300*time.Millisecond
	for _, ttl := range []time.Duration{6 * time.Second, 48 * time.Second} {
		o := heartbeat.Observation{Key: "a"}.Read("1", ttl, 1000, 1000)
		if next := o.Next(timing, poll).Sub(o.Last); next > 2*time.Second+poll/2 || next < 2*time.Second {
			t.Errorf("with a TTL of %s the next look is after %s", ttl, next)
		}
	}
}

// TestAListIsAHint: it decides nothing, and makes a read worth while.
func TestAListIsAHint(t *testing.T) {
	t.Parallel()
	listed := heartbeat.Observation{Key: "p"}.InList("1", ttl, at(0))
	if listed.Suspect(at(silence-1), silence) || !listed.Suspect(at(silence), silence) || listed.Dead(0) {
		t.Errorf("listed once: %+v", listed)
	}
	again := listed.InList("1", ttl, at(silence))
	if again.Since != at(0) || again.Dead(silence) {
		t.Errorf("listed again, unchanged: %+v", again)
	}
	read := listed.Read("1", ttl, at(silence), at(silence))
	if !read.Dead(silence) || read.Suspect(at(2*silence), silence) || read.InList("2", ttl, at(silence)).Known {
		t.Errorf("a read has decided: %+v", read)
	}
	out := listed.NotInList()
	if !out.Suspect(at(0), silence) || out.Gone() || out.InList("1", ttl, at(1)).Missing {
		t.Errorf("left out: %+v", out)
	}
	if there := out.Read("1", ttl, at(1), at(1)); there.Missing || there.Suspect(at(1), silence) {
		t.Errorf("left out and there: %+v", there)
	}
	if gone := out.Read("", 0, at(1), at(1)); !gone.Gone() || gone.Suspect(at(1), silence) {
		t.Errorf("left out and gone: %+v", gone)
	}
}

// TestObservations: a set stays sorted and is never changed.
func TestObservations(t *testing.T) {
	t.Parallel()
	read := func(key string, sent time.Duration) heartbeat.Observation {
		return heartbeat.Observation{Key: key}.Read("1", ttl, at(sent), at(sent))
	}
	var none heartbeat.Observations
	if o := none.Of("b"); o != (heartbeat.Observation{Key: "b"}) {
		t.Errorf("unknown: %+v", o)
	}
	first := none.With(read("b", 1)).With(read("a", 1))
	second := first.With(read("b", 3)).With(read("c", 2))
	want := func(got heartbeat.Observations, want ...heartbeat.Observation) {
		t.Helper()
		if !slices.Equal(got, want) {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
	want(first, read("a", 1), read("b", 1))
	want(second, read("a", 1), read("b", 3), read("c", 2))
}

// TestText: a document states the TTL, never less than it is, and what cannot be one is none.
func TestText(t *testing.T) {
	t.Parallel()
	data, err := json.Marshal(heartbeat.Text{Member: "a", AtMS: 5}.States(7*time.Second+1, 7*time.Second+1))
	if err != nil || string(data) != `{"member":"a","at_ms":5,"ttl_ms":7001}` {
		t.Errorf("%s, %v", data, err)
	}
	for text, want := range map[string]time.Duration{
		string(data):                           7001 * time.Millisecond,
		`{"owner":"x","ttl_ms":300,"at_ms":1}`: 300 * time.Millisecond,
		`{"ttl_ms":86400000}`:                  heartbeat.MaxTTL,
		`{"ttl_ms":86400001}`:                  0,
		`{"ttl_ms":7000,"owner":"` + strings.Repeat("x", 64<<10) + `"}`: 0,
		`{"ttl_ms":9223372036854775807}`:                                0,
		`{"ttl_ms":0}`:                                                  0,
		`{"ttl_ms":-1}`:                                                 0,
		`{"ttl_ms":1.5}`:                                                0,
		`{"member":"b","at_ms":1}`:                                      0,
		`[]`:                                                            0,
		`7s`:                                                            0,
		``:                                                              0,
		`{"member":"b","ttl_ms":300} and no JSON`: 0,
	} {
		if got := heartbeat.StatedTTL([]byte(text)); got != want {
			t.Errorf("%s states %s, want %s", text, got, want)
		}
	}
}

// What a watcher writes of a silence can be read back, and what it cannot know is said to be unknown.
func TestReasonTellsOfTheSilence(t *testing.T) {
	t.Parallel()
	const limit = 10 * time.Second
	read := func(versions ...string) heartbeat.Observation { // one each second
		o := heartbeat.Observation{Key: "p"}
		for i, v := range versions {
			o = o.Read(store.Version(v), limit, at(time.Duration(i+1)*time.Second), at(time.Duration(i+1)*time.Second))
		}
		return o
	}
	for want, c := range map[string]struct {
		o       heartbeat.Observation
		silence time.Duration
		known   bool
	}{
		"found":                      {read("1", "2", ""), 0, true}, // it went with its process
		"found, for an unknown time": {read("", ""), 0, false},
		"found, silent for 3000 ms":  {read("1", "2", "2", "2", "2"), 3 * time.Second, true},
		"found, silent for 8000 ms":  {read("1", "1", "1", "1", "1", "1", "1", "1", ""), 8 * time.Second, true}, // its session ended for its silence
	} {
		if got := c.o.Reason("found", limit); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		if silence, known := heartbeat.SilenceIn("a left: " + want); silence != c.silence || known != c.known {
			t.Errorf("%s: read back as %s, %t", want, silence, known)
		}
	}
	odd := "a, silent for 1 ms left: found, silent for 3000 ms"
	if silence, _ := heartbeat.SilenceIn(odd); silence != 3*time.Second {
		t.Errorf("read from %q: %s", odd, silence)
	}
	if silence, known := heartbeat.SilenceIn("a left: left gracefully"); silence != 0 || !known {
		t.Errorf("in order: %s, %t", silence, known)
	}
}

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

// TestPaceOfSlowRenewals: the TTL doubles after three slow answers in a row, up to eight times, and halves after a
// while of quick ones: a longer one after each relapse.
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
	calm := func(renewals int) {
		t.Helper()
		before := p.TTL(paced())
		for range renewals - 1 {
			answer(0, true)
		}
		want("before the calm time is over", int(before/ttl))
		for range 2 {
			answer(0, true)
		}
		want("after a calm time", int(before/ttl/2))
		p.Calm = now
	}
	slow := func() {
		for range 3 {
			answer(p.TTL(paced())/3, true)
		}
	}
	for range 3 {
		calm(6)
	}
	for _, renewals := range []int{12, 24, 48, 96, 96} {
		slow()
		want("a relapse", 2)
		calm(renewals)
	}
	now = now.Add(40 * ttl)
	p.Calm = now
	slow()
	want("a relapse that is none any more", 2)
	calm(6)
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
