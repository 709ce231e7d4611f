package literal

import (
	"fmt"

	"github.com/rota-run/rota/internal/proof/check"
)

// Next implements check.Model.
func (m Locks) Next(s lockState) []check.Move[lockState] {
	w := lockMoves{m: m, from: s}
	for n := range s.nodes {
		w.look(n)
		w.send(n)
		w.stored(n)
		w.act(n)
	}
	w.tick()
	return w.out
}

type lockMoves struct {
	m    Locks
	from lockState
	out  []check.Move[lockState]
}

func (w *lockMoves) add(s lockState, format string, args ...any) {
	w.out = append(w.out, check.Move[lockState]{Name: fmt.Sprintf(format, args...), To: s})
}

// look reads the document. A node that finds the lock free sends for it.
func (w *lockMoves) look(n int) {
	me, clock := &w.from.nodes[n], w.m.clock(&w.from, n)
	if me.write.kind != noWrite || w.m.holds(&w.from, n) || me.about {
		return
	}
	s := w.from
	at := &s.nodes[n]
	if at.seen != s.doc.version {
		at.seen, at.since = s.doc.version, clock
	}
	if w.m.free(&s, n) && clock > at.last {
		at.write, at.last = lockWrite{acquire, clock, s.doc.version}, clock
		w.add(s, "%s, whose clock shows %d, finds %s, and sends for the lock", node(n), clock, w.m.found(&s, n))
		return
	}
	if s != w.from {
		w.add(s, "%s looks: %s", node(n), w.m.says(s.doc))
	}
}

// free tells whether a node may take the lock, by what it saw.
func (m Locks) free(s *lockState, n int) bool {
	switch {
	case s.doc.version == 0 || s.doc.owner < 0 || s.doc.expire == 0:
		return true
	case m.ours:
		return m.clock(s, n)-s.nodes[n].since >= leaseTicks+1
	}
	return s.doc.expire <= m.clock(s, n)
}

func (m Locks) found(s *lockState, n int) string {
	switch {
	case s.doc.version == 0 || s.doc.owner < 0 || s.doc.expire == 0:
		return "it free"
	case m.ours:
		return fmt.Sprintf("it unchanged for %d ticks", m.clock(s, n)-s.nodes[n].since)
	}
	return fmt.Sprintf("it expired at %d", s.doc.expire)
}

// send is what a holder sends: a renewal, or, once, an unlock.
func (w *lockMoves) send(n int) {
	me := &w.from.nodes[n]
	if me.write.kind != noWrite || !w.m.holds(&w.from, n) || me.about {
		return
	}
	clock := w.m.clock(&w.from, n)
	if w.m.sc.renewals && clock > me.last {
		s := w.from
		s.nodes[n].write, s.nodes[n].last = lockWrite{renew, clock, me.version}, clock
		w.add(s, "%s sends a renewal", node(n))
	}
	if w.m.sc.unlocks && !me.released {
		s := w.from
		s.nodes[n].write = lockWrite{unlock, clock, me.version}
		s.nodes[n].until, s.nodes[n].released = 0, true
		w.add(s, "%s is done, and sends an unlock", node(n))
	}
}

// stored does a write that is under way. The document's unlock and renewal do not ask who holds the lock by then; ours
// do, and so does everybody's acquire.
func (w *lockMoves) stored(n int) {
	me := &w.from.nodes[n]
	wr := me.write
	if wr.kind == noWrite {
		return
	}
	s := w.from
	at := &s.nodes[n]
	at.write = lockWrite{}
	asked := wr.kind == acquire || w.m.ours || !w.m.sc.blind
	if asked && s.doc.version != wr.based {
		at.until = 0
		w.add(s, "the %s of %s is refused: the document has changed", wr.kind, node(n))
		return
	}
	s.doc.version++
	at.version = s.doc.version
	switch wr.kind {
	case acquire, renew:
		s.doc.owner, s.doc.expire = int8(n), wr.sent+leaseTicks
		if wr.kind == acquire {
			s.doc.token++
			at.token = s.doc.token
		}
		at.until = wr.sent + leaseTicks
		if w.m.ours {
			at.until-- // it stops before others may begin
		}
	case unlock:
		s.doc.expire = 0
	}
	w.add(s, "the %s of %s is stored: %s", wr.kind, node(n), w.m.says(s.doc))
}

// act is an effect on the resource: first a look at the clock, then the effect, and nothing says how long lies between.
func (w *lockMoves) act(n int) {
	if !w.m.sc.acts {
		return
	}
	me := &w.from.nodes[n]
	if !me.about && w.m.holds(&w.from, n) && me.write.kind == noWrite {
		s := w.from
		s.nodes[n].about = true
		w.add(s, "%s looks at its clock, which shows %d: it holds the lock until %d, and goes to change the resource",
			node(n), w.m.clock(&s, n), me.until)
	}
	if !me.about {
		return
	}
	s := w.from
	s.nodes[n].about = false
	switch {
	case me.token >= s.newest:
		s.newest = me.token
		w.add(s, "%s changes the resource", node(n))
	case w.m.ours:
		w.add(s, "the resource refuses token %d of %s: it has seen %d", me.token, node(n), s.newest)
	default:
		s.stale = true
		w.add(s, "%s changes the resource, after %s did", node(n), node(1-n))
	}
}

// tick lets time pass. A write or an effect may be slower than a tick as often as the scenario allows.
func (w *lockMoves) tick() {
	s := w.from
	if s.now == lastTick {
		return
	}
	for n := range s.nodes {
		if s.nodes[n].write.kind != noWrite || s.nodes[n].about {
			s.late++
		}
	}
	if s.late > w.m.sc.late {
		return
	}
	s.now++
	w.add(s, "a tick passes: it is %d", s.now)
}
