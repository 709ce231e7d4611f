package lock

import (
	"errors"
	"testing"
	"time"

	"github.com/rota-run/rota/protocol"
)

// TestTheLineIsBounded: with 1,000 claims in the line another one is refused and writes nothing, so the document never becomes one that all
// would count as damaged; with one claim less it may still come in.
func TestTheLineIsBounded(t *testing.T) {
	t.Parallel()
	full := table{Format: format, Size: 1}
	for _, e := range entries(0, 1+maxWaiting) { // one holds it
		full = full.with(e)
	}
	me := entry{ID: "me", Heartbeat: "p", TTLMS: 1000}
	enter := func(now table) effect {
		c := claim{terms: terms{me: me, size: 1, pause: time.Second}}
		_, fx := c.step(tableRead{now: 1, table: now, version: "1"})
		return fx
	}
	if err := full.check(); err != nil {
		t.Fatalf("a full line: %v", err)
	}
	if end, ok := enter(full).(left); !ok || !errors.Is(end.err, ErrCrowded) {
		t.Errorf("a claim at a full line: %#v, want %v", enter(full), ErrCrowded)
	}
	w, ok := enter(full.without("id500")).(writeTable)
	if !ok || len(w.table.Waiters) != maxWaiting || w.table.check() != nil {
		t.Errorf("a claim at a line with one place: %d wait, %v", len(w.table.Waiters), w.table.check())
	}
}

// TestTheLeaseIsCountedFromTheRequest: others count from what they saw, which may be the instant of the request; the time of a late answer is not ours.
func TestTheLeaseIsCountedFromTheRequest(t *testing.T) {
	t.Parallel()
	const ttl = 10 * time.Second
	l := life{ttl: ttl}
	sent := protocol.Instant(time.Hour)
	l, _ = l.step(lifeWoken{now: sent})
	for _, late := range []time.Duration{0, time.Second, 8 * time.Second} {
		next, _ := l.step(beaten{now: sent.Add(late), sent: sent, outcome: done, version: "1"})
		if got, want := next.validUntil(), sent.Add(timing(ttl).Valid()); got != want {
			t.Errorf("answered after %v: valid until %v after the request, want %v", late, got.Sub(sent), want.Sub(sent))
		}
	}
}

// TestOthersWaitLongerThanALeaseIsValid: a holder whose clock is slow by the drift has lost its lease before a watcher whose clock is fast by it counts it as dead.
func TestOthersWaitLongerThanALeaseIsValid(t *testing.T) {
	t.Parallel()
	const ttl = 10 * time.Second
	if got, want := timing(ttl).Valid(), 9*time.Second; got != want {
		t.Errorf("a lease is valid for %v, want %v", got, want)
	}
	if got, want := silenceOf(ttl), 11*time.Second; got != want {
		t.Errorf("others wait %v, want %v", got, want)
	}
}

// TestAHeartbeatThatIsFoundIsOurs: a look at a heartbeat in doubt makes it known, after which its absence ends the lease; before, absence means that it was not written.
func TestAHeartbeatThatIsFoundIsOurs(t *testing.T) {
	t.Parallel()
	l := life{ttl: 10 * time.Second}
	l, _ = l.step(lifeWoken{now: 1})
	if l, _ = l.step(felt{now: 2}); l.over {
		t.Error("a heartbeat that was never written has ended the lease")
	}
	if l, _ = l.step(felt{now: 3, version: "7"}); l.over || l.version != "7" {
		t.Errorf("version %q, over %v", l.version, l.over)
	}
	if l, _ = l.step(felt{now: 4}); !l.over {
		t.Error("a heartbeat that has gone has not ended the lease")
	}
}

// TestPlacesOfASemaphore: as text, as many places are read as can be written, and each change of a table counts.
func TestPlacesOfASemaphore(t *testing.T) {
	t.Parallel()
	for n, good := range map[int]bool{0: false, 1: true, maxSize: true, maxSize + 1: false} {
		if err := (Semaphore{name: "a", size: n}).checkText(); (err == nil) != good {
			t.Errorf("%d places: %v", n, err)
		}
	}
	if now := (table{Writes: 3}).touched(); now.Writes != 4 || now.Format != format {
		t.Errorf("a table that was touched: %+v", now)
	}
}
