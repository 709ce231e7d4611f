package heartbeat_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/rota-run/rota/internal/protocol/heartbeat"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// rho is the bound on the error of a clock's rate, in thousandths.
const rho = 50

// clock is that of one machine. True time is in microseconds, so that its readings are exact.
type clock struct{ base, rate int64 }

func drawClock(t *rapid.T, whose string) clock {
	return clock{
		base: rapid.Int64Range(1, 1e15).Draw(t, "base of the clock of "+whose),
		rate: rapid.OneOf(rapid.SampledFrom([]int64{1000 - rho, 1000, 1000 + rho}),
			rapid.Int64Range(1000-rho, 1000+rho)).Draw(t, "its rate"),
	}
}

func (c clock) at(t int64) protocol.Instant { return protocol.Instant(c.base + t*c.rate) }

// when is the first true time at which the clock has reached an instant.
func (c clock) when(i protocol.Instant) int64 { return (int64(i) - c.base + c.rate - 1) / c.rate }

// owner is what an owner has done, in true time.
type owner struct {
	clock  clock
	timing heartbeat.Timing
	stored []int64         // when its renewals reached the store: in some order, the outcome of a call may be unknown
	states []time.Duration // the TTL in each of them
	heard  []lease         // what it knew from when on
}

type lease struct {
	from int64
	heartbeat.Lease
}

func drawTiming(t *rapid.T) heartbeat.Timing {
	ttl := time.Duration(rapid.Int64Range(300, 60_000).Draw(t, "TTL in ms")) * time.Millisecond
	return heartbeat.Timing{TTL: ttl, Rho: rho,
		Margin: ttl * time.Duration(rapid.SampledFrom([]int64{0, 0, 50}).Draw(t, "margin in thousandths")) / 1000}
}

// drawDelay draws how long a part of a call takes: often no time, and sometimes as long as does harm.
func drawDelay(t *rapid.T, ttl time.Duration, of string) int64 {
	long := ttl.Microseconds()
	return []int64{0, 0, long / 100, long / 100, rapid.Int64Range(0, long).Draw(t, of),
		rapid.Int64Range(long, long*5/4).Draw(t, of)}[rapid.IntRange(0, 5).Draw(t, of)]
}

// drawOwner lets an owner renew its heartbeat until its lease lapses, or it dies.
func drawOwner(t *rapid.T) owner {
	o := owner{clock: drawClock(t, "the owner"), timing: drawTiming(t)}
	var l heartbeat.Lease
	for now, n := int64(0), rapid.IntRange(1, 10).Draw(t, "renewals"); n > 0; n-- {
		sent, stated := now, o.timing.Of(o.timing.TTL<<rapid.IntRange(0, 2).Draw(t, "doubled"))
		l = l.Sending(o.clock.at(sent), stated)
		o.heard = append(o.heard, lease{sent, l})
		stored := sent + drawDelay(t, o.timing.TTL, "until it is stored")
		o.stored, o.states = append(o.stored, stored), append(o.states, stated.TTL)
		now = stored + drawDelay(t, o.timing.TTL, "until it is answered")
		if l.Lapsed(o.clock.at(now), o.timing) {
			break
		}
		if rapid.IntRange(0, 4).Draw(t, "lost") > 0 {
			l = l.Renewed(o.clock.at(sent), stated)
			o.heard = append(o.heard, lease{now, l})
			now = max(now, o.clock.when(l.Next))
		} else {
			now = sent + rapid.Int64Range(1, o.timing.TTL.Microseconds()/3).Draw(t, "gives up after")
		}
	}
	return o
}

// announced is when it knew of its first renewal: others get to know its heartbeat no earlier.
func (o owner) announced() int64 {
	for _, h := range o.heard {
		if h.Held {
			return h.from
		}
	}
	return 0
}

// version is what a read finds that the store answers at a time, and the TTL in it. A renewal that comes after a later
// one meets another version, and fails.
func (o owner) version(at int64) (store.Version, time.Duration) {
	n, ttl := 0, o.timing.TTL // v0 was there before
	for i, stored := range o.stored {
		if stored <= at {
			n, ttl = i+1, o.states[i]
		}
	}
	return store.Version(fmt.Sprint("v", n)), ttl
}

// valid is by how much its lease is still valid at a time, by its own clock.
func (o owner) valid(at int64) time.Duration {
	var l heartbeat.Lease
	for _, h := range o.heard {
		if h.from <= at {
			l = h.Lease
		}
	}
	if !l.Held || l.Lapsed(o.clock.at(at), o.timing) {
		return 0
	}
	return l.Until(o.timing).Sub(o.clock.at(at))
}

// TestTheyAreNeverBothRight: an owner that follows its lease and a watcher that follows its observation never overlap,
// whatever the rates of their clocks within ρ, the delays of the calls, answers that are lost, lists that are old, and
// the TTLs that the owner states one after the other.
func TestTheyAreNeverBothRight(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		own := drawOwner(t)
		ttl, watcher := own.timing.TTL, drawClock(t, "the watcher")
		o := heartbeat.Observation{Key: "k"}
		now := own.announced() + rapid.Int64Range(0, 2*ttl.Microseconds()).Draw(t, "first look")
		for range rapid.IntRange(1, 12).Draw(t, "looks") {
			if rapid.IntRange(0, 3).Draw(t, "list") == 0 {
				old := rapid.Int64Range(0, now).Draw(t, "how old the list is")
				version, stated := own.version(now - old)
				o = o.InList(version, stated, watcher.at(now))
			} else if rapid.IntRange(0, 9).Draw(t, "not listed") == 0 {
				o = o.NotInList()
			}
			sent := now
			read := sent + drawDelay(t, ttl, "until it is read")
			now = read + drawDelay(t, ttl, "until the answer is there")
			version, stated := own.version(read)
			o = o.Read(version, stated, watcher.at(sent), watcher.at(now))
			silence := own.timing.Of(o.TTL).Silence()
			if left := own.valid(now); o.Dead(silence) && left > 0 {
				t.Fatalf("counted as dead at %d µs while its lease is valid for another %s", now, left)
			}
			if end := watcher.when(o.Since.Add(silence)); end > now &&
				rapid.Bool().Draw(t, "waits for the end of the silence") {
				now = end
			} else {
				now += drawDelay(t, ttl, "pause")
			}
		}
	})
}

// TestTheDeadAreFound: once an owner has stopped, a watcher that goes on reading finds it dead as soon as it has been
// silent for long enough.
func TestTheDeadAreFound(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		timing, watcher := drawTiming(t), drawClock(t, "the watcher")
		o := heartbeat.Observation{Key: "k"}.Read("v", timing.TTL, watcher.at(0), watcher.at(0))
		for now := int64(0); !o.Dead(timing.Silence()); {
			if waited := watcher.at(now).Sub(watcher.at(0)); waited >= timing.Silence() {
				t.Fatalf("silent for %s and not dead: %+v", waited, o)
			}
			now += rapid.Int64Range(1, timing.TTL.Microseconds()/3).Draw(t, "pause")
			o = o.Read("v", timing.TTL, watcher.at(now), watcher.at(now))
		}
	})
}
