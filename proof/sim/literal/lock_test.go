package literal

import (
	"fmt"

	"github.com/rota-run/rota/internal/proof/check"
)

// Locks is a lock in a document and two nodes that want it: as the document has it, which compares wall clocks, or as
// Rota has it, which watches versions, counts its own time from before it sent, and gives tokens.
type Locks struct {
	sc   LockScenario
	ours bool
}

var _ check.Model[lockState] = Locks{}

// NewLocks is the model of a scenario, by the document's rules or by ours.
func NewLocks(sc LockScenario, ours bool) Locks { return Locks{sc, ours} }

// A lease lasts for some ticks. By our rules others wait one tick more and a holder stops one tick earlier: that is ρ
// and the margin.
const (
	leaseTicks = 3
	lastTick   = 7
)

// lockDoc is the lock document. A version of 0 means that there is none.
type lockDoc struct {
	owner   int8 // -1 for none
	expire  int8 // by the owner's wall clock
	version int8
	token   int8 // raised with each change of holder
}

func (d lockDoc) free() bool { return d.version == 0 || d.owner < 0 || d.expire == 0 }

// lockNode is one node. Its clock is the true time plus its skew.
type lockNode struct {
	until    int8 // it holds the lock until its clock shows this; 0: it does not
	token    int8 // under which it holds
	version  int8 // of the document as it wrote it last
	write    lockWrite
	about    bool // it has looked at the clock, and is about to act
	seen     int8 // version that it saw last
	since    int8 // its clock when it saw that version first
	released bool
	last     int8 // its clock when it sent last: it sends once in a tick
}

// lockWrite is a write that is under way.
type lockWrite struct {
	kind  lockKind
	sent  int8 // the node's clock
	based int8 // the version that it replaces
}

type lockKind uint8

const (
	noWrite lockKind = iota
	acquire
	renew
	unlock
)

func (k lockKind) String() string { return [...]string{"nothing", "lock", "renewal", "unlock"}[k] }

// lockState is the whole system.
type lockState struct {
	now    int8
	doc    lockDoc
	nodes  [2]lockNode
	newest int8 // the largest token under which the resource was changed
	stale  bool // a former holder has changed it
	late   int8 // writes that were slower than a tick
}

// The promises of a lock.
const (
	promiseOne   = "one node holds the lock"
	promiseFence = "a former holder changes nothing"
)

// Start implements check.Model.
func (m Locks) Start() []lockState {
	return []lockState{{now: 1, doc: lockDoc{owner: -1}}}
}

// Key implements check.Model.
func (m Locks) Key(s lockState) string { return fmt.Sprint(s) }

// Good implements check.Model: time is up and nothing is under way, or somebody holds the lock.
func (m Locks) Good(s lockState) bool {
	return s.now == lastTick || m.holds(&s, 0) || m.holds(&s, 1)
}

// Broken implements check.Model.
func (m Locks) Broken(s lockState) string {
	switch {
	case m.holds(&s, 0) && m.holds(&s, 1):
		return promiseOne
	case s.stale:
		return promiseFence
	}
	return ""
}

func (m Locks) clock(s *lockState, n int) int8 { return s.now + m.sc.skew[n] }

// holds tells whether a node takes the lock for its own.
func (m Locks) holds(s *lockState, n int) bool { return m.clock(s, n) < s.nodes[n].until }

// Describe shows a state.
func (m Locks) Describe(s lockState) string {
	text := "there is no document"
	if s.doc.version > 0 {
		text = fmt.Sprintf("the document says %s", m.says(s.doc))
	}
	for n := range s.nodes {
		if m.holds(&s, n) {
			text += fmt.Sprintf("; %s holds the lock until its clock shows %d, and it shows %d", node(n),
				s.nodes[n].until, m.clock(&s, n))
		}
	}
	return text
}

func (m Locks) says(d lockDoc) string {
	if d.free() {
		return "free"
	}
	if m.ours {
		return fmt.Sprintf("%s, token %d", node(int(d.owner)), d.token)
	}
	return fmt.Sprintf("%s until %d", node(int(d.owner)), d.expire)
}

func node(n int) string { return string(rune('A' + n)) }

// LockScenario is what may happen to two nodes that share a lock document.
type LockScenario struct {
	Name, Title, Flaw string

	skew     [2]int8 // how far each node's wall clock is ahead
	renewals bool    // holders renew
	unlocks  bool    // each holder may unlock, once
	blind    bool    // by the document's rules unlock and renewal don't ask for a version
	acts     bool    // holders change a resource
	late     int8    // how many ticks writes and effects may be late, in all
}

// LockScenarios are those in which the document's lock breaks.
func LockScenarios() []LockScenario {
	return []LockScenario{
		{
			Name: "clock-ahead", Title: "One clock is ahead",
			Flaw: "“Current time is past expire timestamp” compares a time that one machine wrote with the clock of another.",
			skew: [2]int8{0, leaseTicks},
		},
		{
			Name: "pause", Title: "A holder looks at its clock, and is stopped before it acts",
			Flaw: "“Lock holder must not perform any operation once the expire time has arrived” can't be kept by a process that does not run. " +
				"Only the resource can refuse, and the document gives it nothing to compare.",
			acts: true, late: leaseTicks + 1,
		},
		{
			Name: "late-unlock", Title: "An unlock arrives late",
			Flaw:    "“Unlocking by setting expire time to 0”, without a version, frees whoever holds the lock by then.",
			unlocks: true, blind: true, late: leaseTicks + 1,
		},
		{
			Name: "late-renewal", Title: "A renewal arrives late",
			Flaw:     "A renewal that is written without a version takes the lock back from the next holder, who does not hear of it.",
			renewals: true, blind: true, late: leaseTicks + 1,
		},
	}
}

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
	case s.doc.free():
		return true
	case m.ours:
		return m.clock(s, n)-s.nodes[n].since >= leaseTicks+1
	}
	return s.doc.expire <= m.clock(s, n)
}

func (m Locks) found(s *lockState, n int) string {
	switch {
	case s.doc.free():
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
