package lock

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/check"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// model is some processes that each take one lock once, a store, and the faults that a scenario allows. What decides is
// the real thing: life.step and claim.step. A tick is a millisecond and the TTL three of them, so a heartbeat is valid
// for two ticks and a bit after it was sent, and others wait for four.
//
// A call is made in two moves, it is done by the store and its answer arrives, both in the tick in which it was sent,
// unless a fault is between. What only one process can notice, an answer or the end of its wait, comes before all else:
// it could as well come later, since nothing else depends on it.
type model struct {
	procs   int
	size    int
	faults  faults
	expires bool // the heartbeats go with sessions: at a crash, and some time after they were renewed last
	flaw    flaw
	only    bool // faults hit none but the first process
	slow    bool // the second process has twice the TTL
	held    bool // it begins where the first process holds the lock and the second waits
}

// faults are how many of each there may be.
type faults struct{ crash, suspend, late, lost, cancel int8 }

// flaw is something that is done wrongly on purpose.
type flaw string

const (
	flawNone        flaw = ""
	flawAcked       flaw = "a lease counts from the answer to a renewal, not from before it was sent"
	flawImpatient   flaw = "others wait for less than the TTL"
	flawBlind       flaw = "a write whose outcome is unknown is taken for one that was not made"
	flawHopeful     flaw = "a write whose outcome is unknown is taken for one that was made"
	flawNoVersion   flaw = "the store writes a table whatever its version"
	flawLooked      flaw = "a look at a heartbeat counts from its answer, not from before it was sent"
	flawEarly       flaw = "a session ends sooner than the TTL after it was renewed"
	flawRevive      flaw = "a heartbeat that was not valid any more is renewed and valid again"
	flawNoClock     flaw = "the holder does not look at the clock"
	flawSameToken   flaw = "a lock that is handed over keeps its token"
	flawReleaseLate flaw = "a release frees the lock without a version"
)

const ttl = 3 * time.Millisecond

type system struct {
	now     protocol.Instant
	table   table
	version int // of the table's document; 0: there is none
	last    int // version that was given last, of any document
	procs   [3]process
	late    []request // writes that may arrive yet, or never
	left    faults
	token   cluster.Token // the last under which somebody has held the lock
	given   uint64        // all of them, as bits
	broken  string
}

type process struct {
	begun, dead, suspended bool
	lapsed                 bool // its heartbeat is not valid any more
	asked                  bool // its claim has begun
	life                   life
	claim                  claim
	lease                  protocol.Instant
	beatCall, claimCall    request
	wakeLife, wakeClaim    protocol.Instant
	keeper                 int // version of its heartbeat in the store; 0: there is none
	called                 protocol.Instant
	ended                  bool // its session
}

// request is one call that is under way.
type request struct {
	kind     string // "" for none
	from     int
	sent     protocol.Instant
	answered bool
	life     lifeEvent // the answer
	claim    event
	keeper   int // whose it looks at
	version  store.Version
	table    table
}

func (r request) writes() bool { return r.kind == "beat" || r.kind == "write" }

func name(p int) string { return string(rune('a' + p)) }

func versionOf(v int) store.Version {
	if v == 0 {
		return ""
	}
	return store.Version(strconv.Itoa(v))
}

func (m model) Start() []system {
	s := system{now: 100, left: m.faults}
	for p := range m.procs {
		own := ttl
		if m.slow && p == 1 {
			own = 2 * ttl
		}
		me := entry{ID: name(p), Heartbeat: name(p), TTLMS: own.Milliseconds()}
		if m.flaw == flawImpatient {
			me.TTLMS = 1
		}
		s.procs[p].life = life{ttl: own}
		s.procs[p].claim = claim{terms: terms{me: me, size: m.size, pause: ttl / 6}}
	}
	if m.held {
		s = m.follow(s, "a begins", "a goes on with its heartbeat", "the store does the beat of a",
			"a hears of its beat", "a asks for the lock",
			"the store does the read of a", "a hears of its read", "the store does the write of a",
			"a hears of its write",
			"b begins", "b goes on with its heartbeat", "the store does the beat of b", "b hears of its beat",
			"b asks for the lock",
			"the store does the read of b", "b hears of its read", "the store does the write of b",
			"b hears of its write")
	}
	return []system{s}
}

// follow makes the moves of these names.
func (m model) follow(s system, names ...string) system {
	for _, name := range names {
		all := m.Next(s)
		i := slices.IndexFunc(all, func(move check.Move[system]) bool { return move.Name == name })
		s = all[i].To // panics where the names are not those of a way
	}
	return s
}

func (s system) clone() system { s.late = slices.Clone(s.late); return s }

// Next lists the moves. What is local to one process comes alone, with the faults that can hit it there.
func (m model) Next(s system) []check.Move[system] {
	w := moves{m: m, from: s}
	for p := range m.procs {
		if w.local(p) {
			return w.out
		}
	}
	for p := range m.procs {
		w.process(p)
	}
	w.arrivals()
	if m.calm(s) {
		w.add("a tick passes", func(n *system) { n.now += protocol.Instant(time.Millisecond) })
	}
	return w.out
}

// calm: nobody who runs has a call under way.
func (m model) calm(s system) bool {
	for p := range m.procs {
		if q := &s.procs[p]; q.begun && !q.dead && !q.suspended && (q.beatCall.kind != "" || q.claimCall.kind != "") {
			return false
		}
	}
	return true
}

type moves struct {
	m    model
	from system
	out  []check.Move[system]
}

func (w *moves) add(what string, do func(*system)) {
	n := w.from.clone()
	do(&n)
	w.m.judge(&n)
	w.out = append(w.out, check.Move[system]{Name: what, To: n})
}

// local adds what only this process can notice; false if there is nothing.
func (w *moves) local(p int) bool {
	q := &w.from.procs[p]
	if !q.begun || q.dead || q.suspended {
		return false
	}
	before := len(w.out)
	switch {
	case q.beatCall.answered:
		w.answer(p, &q.beatCall, func(n *system, r request) {
			n.procs[p].beatCall = request{}
			w.m.lifeStep(n, p, r.life)
		}, func(n *system) *request { return &n.procs[p].beatCall })
	case q.beatCall.kind == "" && !q.lapsed && q.wakeLife <= w.from.now:
		w.add(name(p)+" goes on with its heartbeat", func(n *system) { w.m.lifeStep(n, p, lifeWoken{n.now}) })
	case q.claimCall.answered:
		w.answer(p, &q.claimCall, func(n *system, r request) {
			n.procs[p].claimCall = request{}
			w.m.claimStep(n, p, r.claim)
		}, func(n *system) *request { return &n.procs[p].claimCall })
	case !q.asked && q.lease != 0 && !q.lapsed:
		w.add(name(p)+" asks for the lock", func(n *system) {
			n.procs[p].asked = true
			w.m.claimStep(n, p, woken{n.now})
		})
	case q.asked && q.claimCall.kind == "" && q.claim.phase != holding && q.claim.phase != over &&
		q.wakeClaim <= w.from.now:
		w.add(name(p)+" goes on", func(n *system) { w.m.claimStep(n, p, woken{n.now}) })
	case q.asked && q.claimCall.kind == "" && q.claim.phase < leaving && !w.m.leased(&w.from, p):
		w.add(name(p)+" has lost its heartbeat", func(n *system) { w.m.claimStep(n, p, stop{n.now}) })
	}
	if len(w.out) == before {
		return false
	}
	w.strikes(p)
	return true
}

// answer lets an answer arrive, or get lost.
func (w *moves) answer(p int, r *request, take func(*system, request), of func(*system) *request) {
	w.add(fmt.Sprintf("%s hears of its %s", name(p), r.kind), func(n *system) { take(n, *of(n)) })
	if w.from.left.lost > 0 && r.writes() && !unknownAnswer(*r) {
		w.add(fmt.Sprintf("the answer to the %s of %s is lost", r.kind, name(p)), func(n *system) {
			n.left.lost--
			of(n).doubt()
		})
	}
}

func unknownAnswer(r request) bool {
	b, isBeat := r.life.(beaten)
	t, isWrite := r.claim.(tableWritten)
	return isBeat && b.outcome == unknown || isWrite && t.outcome == unknown
}

// doubt makes the answer one that says nothing.
func (r *request) doubt() {
	r.answered = true
	if r.kind == "beat" {
		r.life = beaten{sent: r.sent, outcome: unknown}
	} else {
		r.claim = tableWritten{outcome: unknown, err: store.ErrUnknown}
	}
}

// strikes are the faults that can hit a process at any time.
func (w *moves) strikes(p int) {
	q := &w.from.procs[p]
	if q.claim.phase == over || w.m.only && p > 0 {
		return
	}
	if w.from.left.suspend > 0 {
		w.add(name(p)+" is suspended", func(n *system) { n.left.suspend--; n.procs[p].suspended = true })
	}
	if w.from.left.crash > 0 {
		w.add(name(p)+" dies", func(n *system) { n.left.crash--; w.m.die(n, p) })
	}
}

func (m model) die(n *system, p int) {
	q := &n.procs[p]
	q.dead = true
	for _, r := range []request{q.beatCall, q.claimCall} {
		if r.writes() && !r.answered { // it may be on its way
			n.late = append(n.late, r)
		}
	}
	q.beatCall, q.claimCall = request{}, request{}
	if m.expires {
		q.keeper, q.ended = 0, true
	}
}

// process adds the moves of one process that others can notice.
func (w *moves) process(p int) {
	q := &w.from.procs[p]
	switch {
	case q.dead:
		return
	case !q.begun:
		w.add(name(p)+" begins", func(n *system) { n.procs[p].begun = true })
		return
	}
	for _, of := range []func(*system) *request{
		func(n *system) *request { return &n.procs[p].beatCall },
		func(n *system) *request { return &n.procs[p].claimCall },
	} {
		r := of(&w.from)
		if r.kind == "" || r.answered {
			continue
		}
		w.add(fmt.Sprintf("the store does the %s of %s", r.kind, name(p)), func(n *system) { w.m.do(n, of(n)) })
		if r.writes() && w.from.left.late > 0 {
			w.add(fmt.Sprintf("the %s of %s is late", r.kind, name(p)), func(n *system) {
				n.left.late--
				n.late = append(n.late, *r)
				of(n).doubt()
			})
		}
	}
	switch {
	case q.suspended:
		w.add(name(p)+" runs again", func(n *system) { n.procs[p].suspended = false })
	default:
		w.user(p)
		w.strikes(p)
	}
	if m := w.m; m.expires && q.keeper != 0 && w.from.now.Sub(q.called) >= m.sessionLife(q) {
		w.add("the session of "+name(p)+" expires", func(n *system) { n.procs[p].keeper, n.procs[p].ended = 0, true })
	}
}

func (m model) sessionLife(q *process) time.Duration {
	if m.flaw == flawEarly {
		return time.Millisecond
	}
	return q.life.ttl
}

func (w *moves) user(p int) {
	q := &w.from.procs[p]
	if !q.asked || q.claimCall.kind != "" {
		return
	}
	if q.claim.phase == holding {
		w.add(name(p)+" lets go", func(n *system) { w.m.claimStep(n, p, stop{n.now}) })
	}
	if q.claim.phase < holding && w.from.left.cancel > 0 {
		w.add(name(p)+" gives up", func(n *system) { n.left.cancel--; w.m.claimStep(n, p, stop{n.now}) })
	}
}

// arrivals are the writes that come late.
func (w *moves) arrivals() {
	for i, r := range w.from.late {
		w.add(fmt.Sprintf("the late %s of %s arrives", r.kind, name(r.from)), func(n *system) {
			n.late = slices.Delete(n.late, i, i+1)
			w.m.do(n, &r)
		})
	}
}

// do is the store.
func (m model) do(n *system, r *request) {
	r.answered = true
	q := &n.procs[r.from]
	switch r.kind {
	case "beat":
		b := beaten{sent: r.sent, outcome: done}
		switch {
		case m.expires && q.ended:
			b.outcome = ended
		case versionOf(q.keeper) != r.version:
			b.outcome = refused
		default:
			n.last++
			q.keeper, q.called = n.last, r.sent
			b.version = versionOf(q.keeper)
		}
		r.life = b
	case "feel":
		r.life = felt{version: versionOf(q.keeper)}
	case "read":
		r.claim = tableRead{table: n.table, version: versionOf(n.version)}
	case "look":
		r.claim = heartbeatSeen{sent: r.sent, key: name(r.keeper), version: versionOf(n.procs[r.keeper].keeper)}
	case "write":
		r.claim = m.write(n, r)
	}
}

func (m model) write(n *system, r *request) event {
	blind := m.flaw == flawNoVersion || m.flaw == flawReleaseLate && !r.table.has(name(r.from))
	if versionOf(n.version) != r.version && !blind {
		return tableWritten{outcome: refused}
	}
	n.last++
	before := n.table.Token
	n.version, n.table = n.last, r.table
	if m.flaw == flawSameToken && before > 0 {
		n.table.Token = before
		n.table.Holders = slices.Clone(n.table.Holders)
		for i := range n.table.Holders {
			n.table.Holders[i].Token = before
		}
		r.table = n.table
	}
	return tableWritten{outcome: done, version: versionOf(n.version)}
}

// stamp sets the instant at which an answer arrives.
func (m model) stampLife(ev lifeEvent, now protocol.Instant) lifeEvent {
	switch ev := ev.(type) {
	case beaten:
		ev.now = now
		if m.flaw == flawAcked {
			ev.sent = now
		}
		return ev
	case felt:
		ev.now = now
		return ev
	}
	return ev
}

func (m model) stamp(ev event, now protocol.Instant) event {
	switch ev := ev.(type) {
	case tableRead:
		ev.now = now
		return ev
	case tableWritten:
		ev.now = now
		switch {
		case ev.outcome == unknown && m.flaw == flawBlind:
			ev.outcome = notDone
		case ev.outcome == unknown && m.flaw == flawHopeful:
			ev.outcome, ev.version = done, "?"
		}
		return ev
	case heartbeatSeen:
		ev.now = now
		if m.flaw == flawLooked {
			ev.sent = now
		}
		return ev
	}
	return ev
}

func (m model) lifeStep(n *system, p int, ev lifeEvent) {
	q := &n.procs[p]
	ev = m.stampLife(ev, n.now)
	if b, ok := ev.(beaten); ok && m.flaw == flawRevive && b.outcome == done {
		q.life.Acked = b.sent // as if nothing had run out
	}
	l, fx := q.life.step(ev)
	if q.life = l; !l.over {
		q.lease = max(q.lease, l.validUntil())
	}
	call := request{from: p, sent: n.now}
	switch fx := fx.(type) {
	case beat:
		call.kind, call.version = "beat", fx.version
	case feel:
		call.kind = "feel"
	case rest:
		q.wakeLife, call = fx.until, request{}
	case lapse:
		q.lapsed, call = true, request{}
	}
	q.beatCall = call
}

func (m model) claimStep(n *system, p int, ev event) {
	q := &n.procs[p]
	c, fx := q.claim.step(m.stamp(ev, n.now))
	if _, isStop := ev.(stop); !isStop && c.phase < leaving && !m.leased(n, p) {
		c, fx = c.step(stop{n.now})
	}
	q.claim = c
	call := request{from: p, sent: n.now}
	switch fx := fx.(type) {
	case readTable:
		call.kind = "read"
	case writeTable:
		call.kind, call.table, call.version = "write", fx.table, fx.version
	case lookHeartbeat:
		call.kind, call.keeper = "look", int(fx.key[0]-'a')
	case wait:
		q.wakeClaim, call = fx.until, request{}
	case granted:
		call = request{}
		if m.size == 1 && fx.token <= n.token || n.given&(1<<fx.token) != 0 {
			n.broken = promiseTokens
		}
		n.token, n.given = fx.token, n.given|1<<fx.token
	case left:
		call = request{}
	}
	q.claimCall = call
}

// leased is what the shell asks before each step, and a holder before each act: the clock.
func (m model) leased(s *system, p int) bool {
	q := &s.procs[p]
	if m.flaw == flawNoClock {
		return !q.lapsed
	}
	return q.lease != 0 && !q.lapsed && s.now < q.lease
}

// The promises.
const (
	promiseOne    = "no more hold the lock than it has places"
	promiseTokens = "each holder has a larger token than the one before, and his own"
	promiseClean  = "who has left has left nothing behind, and nothing comes later"
)

// judge looks at what must hold in every state.
func (m model) judge(s *system) {
	holders := 0
	for p := range m.procs {
		q := &s.procs[p]
		if q.claim.phase == holding && !q.dead && m.leased(s, p) {
			holders++
		}
		if q.claim.phase == over && s.table.has(name(p)) {
			s.broken = promiseClean
		}
	}
	if holders > m.size {
		s.broken = promiseOne
	}
}

func (m model) Broken(s system) string { return s.broken }

// Good: all who live are through, and have left nothing.
func (m model) Good(s system) bool {
	for p := range m.procs {
		q := &s.procs[p]
		if q.dead {
			continue
		}
		if !q.lapsed && q.claim.phase != over || s.table.has(name(p)) {
			return false
		}
	}
	return true
}
