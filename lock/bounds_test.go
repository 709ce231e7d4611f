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
