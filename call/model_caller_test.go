package call

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/rota-run/rota/store"
)

// caller submits calls to one page, waits for the newest, and closes. What it points to is not changed.
type caller struct {
	dead    bool
	phase   callerPhase
	opened  bool // the page
	era     int  // in which it was opened
	head    head
	version store.Version
	blind   bool
	use     pageUse
	number  int // of the newest call
	count   int // of calls that were submitted, or given up

	submits  submitting
	cancels  cancels
	hearing  hearing
	told     int
	asked    bool // to be called back, afterwards
	collects request
	removes  request
	closing  bool
}

type callerPhase uint8

const (
	callerIdle callerPhase = iota
	callerSubmitting
	callerWaiting
	callerDone
)

// submitting is a submission, and a write of the head for it.
type submitting struct {
	s       submission
	sent    bool // its number was taken a while ago
	fx      effect
	heads   bool // the head is being written
	heading heading
	hfx     effect
	next    head // that is being written
	req     request
}

type cancels struct {
	c   cancelling
	on  bool
	fx  effect
	req request
}

const callerName = "the caller"

// over: it is dead, or has closed and nothing is under way.
func (c *caller) over(m model) bool {
	return c.dead || c.phase == callerDone && c.count == m.calls && !c.cancels.on && c.collects.kind == "" &&
		c.removes.kind == "" && c.closing
}

// change lets f change a copy of the caller.
func (s *system) change(f func(*caller)) {
	c := *s.caller
	f(&c)
	s.caller = &c
}

func (w *moves) callerDo(what string, f func(*system, *caller)) {
	w.add(what, func(n *system) { n.change(func(c *caller) { f(n, c) }) })
}

func (w *moves) caller() {
	c := w.from.caller
	if c.dead {
		return
	}
	switch c.phase {
	case callerIdle, callerDone:
		w.begins(c)
	case callerSubmitting:
		w.submits(c)
	case callerWaiting:
		w.sees(c)
	}
	w.cancels(c)
	w.removals(c)
	if w.from.left.die > 0 {
		w.callerDo("the caller dies", func(n *system, c *caller) {
			n.left.die--
			for _, r := range []request{c.submits.req, c.cancels.req, c.collects, c.removes} {
				n.abandon(r)
			}
			*c = caller{dead: true}
		})
	}
}

// begins opens the page, submits, or closes.
func (w *moves) begins(c *caller) {
	switch {
	case c.closing:
	case !c.opened && c.count < w.m.calls:
		w.callerDo("the caller opens a page", func(n *system, c *caller) {
			c.phase, c.era = callerSubmitting, n.era
			w.m.writeHead(c, head{}, "")
		})
	case c.count < w.m.calls && c.use.used < mostCalls && !c.old(w.from):
		w.callerDo(fmt.Sprintf("the caller submits %d", c.use.used), func(_ *system, c *caller) { w.m.submit(c) })
	case !c.cancels.on && c.collects.kind == "":
		w.callerDo("the caller closes", func(_ *system, c *caller) {
			c.phase, c.closing, c.count = callerDone, true, w.m.calls
			c.use.shut = true
			c.leave()
		})
	}
}

func (c *caller) old(s system) bool { return s.era > c.era }

// leave removes the page if nothing is left of it.
func (c *caller) leave() {
	if c.use.last() && removable(c.head, c.version) {
		c.removes = request{kind: headRemoval, from: callerName, version: c.version}
	}
}

// submit takes the next number.
func (m model) submit(c *caller) {
	c.number, c.use = c.use.used, c.use.take(1)
	c.phase, c.hearing, c.told, c.asked = callerSubmitting, hearing{}, 0, false
	c.submits = submitting{fx: create{}}
	m.submitDoes(c)
}

func (m model) record() Record {
	r := Record{Format: format, Function: "f", Arg: json.RawMessage("1"),
		Limits: Limits{Attempts: m.attempts, ResultBytes: 9}, State: Queued}
	if m.handler {
		r.OnFailure = &Handler{Function: handlerName, Limits: r.Limits}
	}
	return r
}

// submitDoes begins what a submission is to do next.
func (m model) submitDoes(c *caller) {
	q := &c.submits
	switch fx := q.fx.(type) {
	case create:
		if m.faults.eras > 0 && !q.sent { // suspended right before
			return
		}
		q.req = request{kind: aCall, from: callerName, number: c.number, call: m.record()}
	case removeCall:
		q.req = request{kind: callRemoval, from: callerName, number: c.number, version: fx.version}
	case tend:
		m.writeHead(c, c.head, c.version)
	case voidNumber:
		m.writeHead(c, head{Void: append(slices.Clone(c.head.Void), c.number)}, c.version)
	}
}

func (m model) writeHead(c *caller, h head, at store.Version) {
	q := &c.submits
	q.heads, q.next = true, h
	q.heading, q.hfx = heading{body: text(h), at: at, blind: c.blind}.begin()
	m.headDoes(c)
}

func (m model) headDoes(c *caller) {
	q := &c.submits
	switch fx := q.hfx.(type) {
	case putHead:
		q.req = request{kind: aHead, from: callerName, version: fx.version, body: fx.body}
	case pause:
		q.heading, q.hfx = q.heading.step(paused{})
		m.headDoes(c)
	}
}

// submits adds the moves of a submission.
func (w *moves) submits(c *caller) {
	q := &c.submits
	hear := func(n *system, a answer) { n.change(func(c *caller) { w.m.submitHears(n, c, a) }) }
	if q.req.kind != "" {
		w.writes(q.req, func(n *system) *request { n.change(func(*caller) {}); return &n.caller.submits.req }, hear)
		return
	}
	if q.heads {
		w.reads("the caller reads the head", func(n *system) answer { return n.getHead() },
			gotHead{err: store.ErrUnavailable}, hear)
		return
	}
	switch q.fx.(type) {
	case create:
		w.callerDo("the caller sends its call", func(_ *system, c *caller) {
			c.submits.sent = true
			w.m.submitDoes(c)
		})
	case getCall:
		w.reads("the caller reads its call", func(n *system) answer { return n.get(c.number) },
			got{err: store.ErrUnavailable}, hear)
	case askAge:
		w.callerDo("the caller looks whether its page is old",
			func(n *system, c *caller) { w.m.submitHears(n, c, aged{c.old(*n)}) })
	}
}

// submitHears takes an answer in.
func (m model) submitHears(n *system, c *caller, a answer) {
	q := &c.submits
	q.req = request{}
	if q.heads {
		q.heading, q.hfx = q.heading.step(a)
		end, ok := q.hfx.(headed)
		if !ok {
			m.headDoes(c)
			return
		}
		q.heads = false
		if c.blind = end.err != nil; !c.blind {
			c.head, c.version = q.next, end.version
		}
		if !c.opened {
			c.opened, c.phase = end.err == nil, callerIdle
			if end.err != nil { // Submit fails, and the page is given up
				c.count, c.submits, c.closing = m.calls, submitting{}, true
				c.phase = callerDone
			}
			return
		}
		a = headEnded{end.err}
	}
	q.s, q.fx = q.s.step(a)
	if end, ok := q.fx.(submitted); ok {
		m.submitEnds(n, c, end)
		return
	}
	m.submitDoes(c)
}

func (m model) submitEnds(n *system, c *caller, end submitted) {
	g := &n.ghosts[c.number]
	c.submits, c.phase = submitting{}, callerIdle
	switch {
	case end.err != nil:
		g.refused = !errors.Is(end.err, store.ErrUnknown)
		c.use = c.use.giveUp(end.err)
		c.count++
		c.leave()
	case end.again:
		g.void = true
	default:
		g.accepted = true
		c.count++
		c.phase = callerWaiting
	}
	if (g.void || g.refused) && g.token > 0 {
		n.breaks(promiseOnce)
	}
}

// sees is the look for the end of the call.
func (w *moves) sees(c *caller) {
	w.callerDo("the caller looks for the end", func(n *system, c *caller) {
		out, gone, ended, collect := n.end(c.number)
		if !ended && !gone {
			return
		}
		if gone && !n.ghosts[c.number].ended {
			n.breaks(promiseKept)
		}
		failed := gone || out.State != Done
		next, first, tell := c.hearing.settle(failed)
		if first {
			n.judgeHeard(c.number, out, gone)
		}
		c.hearing = next
		if tell {
			c.told++
		}
		if n.judgeTold(failed, c.told); first && collect {
			c.collects = request{kind: callRemoval, from: callerName, number: c.number,
				version: versionOf(n.calls[c.number].version)}
		}
		if _, again, tell := c.hearing.settle(failed); again || tell { // and who sees it twice
			n.breaks(promiseCallback)
		}
		if now, later := c.hearing.listen(); now != failed || later { // who asks afterwards
			n.breaks(promiseCallback)
		}
		c.phase = callerDone
	})
}

// end is what a look at a call tells.
func (s *system) end(number int) (out Outcome, gone, ended, collect bool) {
	g := s.get(number)
	if errors.Is(g.err, store.ErrNotFound) {
		return Outcome{}, true, false, false
	}
	out, ended, collect = g.call.conclusion()
	return out, false, ended, collect
}

func (s *system) judgeHeard(number int, out Outcome, gone bool) {
	if g := s.ghosts[number]; !gone && (!g.ended || !sameOutcome(g.out, out)) {
		s.breaks(promiseTold)
	}
}

func (s *system) judgeTold(failed bool, told int) {
	if want := map[bool]int{true: 1}[failed]; told != want {
		s.breaks(promiseCallback)
	}
}

// cancels adds a wish to cancel the newest call.
func (w *moves) cancels(c *caller) {
	q := &c.cancels
	hear := func(n *system, a answer) { n.change(func(c *caller) { w.m.cancelHears(n, c, a) }) }
	switch {
	case q.req.kind != "":
		w.writes(q.req, func(n *system) *request { n.change(func(*caller) {}); return &n.caller.cancels.req }, hear)
	case q.on:
		w.reads("the caller reads what it cancels", func(n *system) answer { return n.get(c.number) },
			got{err: store.ErrUnavailable}, hear)
	case w.from.left.cancel > 0 && c.phase == callerWaiting:
		w.callerDo("the caller wishes to cancel", func(n *system, c *caller) {
			n.left.cancel--
			c.cancels = cancels{on: true, fx: getCall{}}
		})
	}
}

func (m model) cancelHears(n *system, c *caller, a answer) {
	q := &c.cancels
	q.req = request{}
	q.c, q.fx = q.c.step(a)
	for {
		switch fx := q.fx.(type) {
		case pause:
			q.c, q.fx = q.c.step(paused{})
			continue
		case putCall:
			q.req = request{kind: aCall, from: callerName + ", cancelling,", number: c.number, version: fx.version,
				call: fx.record}
		case wished:
			now := n.get(c.number)
			_, ended := now.call.Ended()
			if fx.err == nil && now.err == nil && !ended && !now.call.Cancel {
				n.breaks(promiseCancel)
			}
			c.cancels = cancels{}
		}
		return
	}
}

// removals adds those of the call that was collected, and of the head.
func (w *moves) removals(c *caller) {
	if c.collects.kind != "" {
		w.writes(c.collects, func(n *system) *request { n.change(func(*caller) {}); return &n.caller.collects },
			func(n *system, a answer) {
				n.change(func(c *caller) {
					c.collects = request{}
					if end, _ := a.(removalEnded); end.err == nil {
						c.use.live--
						c.leave()
					}
				})
			})
	}
	if c.removes.kind != "" {
		w.writes(c.removes, func(n *system) *request { n.change(func(*caller) {}); return &n.caller.removes },
			func(n *system, _ answer) {
				n.change(func(c *caller) { c.removes = request{} })
			})
	}
}

// waiter is somebody else who waits for the first call, having its ID.
type waiter struct {
	begun   bool
	hearing hearing
}

func (w *moves) waits() {
	q := &w.from.waiter
	switch {
	case !w.m.waiter:
	case !q.begun:
		if w.from.ghosts[0].accepted {
			w.add("somebody else waits", func(n *system) { n.waiter.begun = true })
		}
	case !q.hearing.ended:
		w.add("somebody else looks for the end", func(n *system) {
			out, gone, ended, _ := n.end(0)
			if !ended && !gone {
				return
			}
			if gone && !n.ghosts[0].ended {
				n.breaks(promiseKept)
			}
			n.judgeHeard(0, out, gone)
			n.waiter.hearing, _, _ = n.waiter.hearing.settle(gone || out.State != Done)
		})
	}
}
