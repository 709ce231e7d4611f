package call

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/store"
)

// member is one process that runs calls, and looks for them all the time.
type member struct {
	dead   bool
	inc    cluster.Incarnation
	leased bool // itself, by its own clock
	knows  int  // how much of the log it has applied
	claims int
	runs   [mostCalls]*runner
}

// runner is what a member has to do with one call. What it points to is not changed.
type runner struct {
	// as it was listed
	listed bool
	call   stored
	inc    cluster.Incarnation
	knows  int

	a       attempt
	fx      effect
	req     request
	began   bool
	token   uint64
	wished  bool // it was told that the call is to be cancelled
	over    bool // it was told that the call is not its any more
	written bool // the store has taken an outcome of it
}

func (r *runner) performing() bool { _, ok := r.fx.(perform); return ok }

// mayAct: the ctx of the run has not ended, whoever looks.
func (q *member) mayAct(r *runner) bool { return !q.dead && q.leased && q.inc == r.inc }

func (w *moves) member(p int) {
	q := &w.from.members[p]
	name := string(memberName(p))
	if !q.dead {
		for i := range mostCalls {
			w.run(p, i)
		}
	}
	w.fate(p, name)
}

// fate is what happens to a member as a whole.
func (w *moves) fate(p int, name string) {
	q, left := &w.from.members[p], w.from.left
	if left.crash > 0 && !q.dead {
		w.add(name+" dies", func(n *system) {
			n.left.crash--
			x := &n.members[p]
			x.dead, x.leased = true, false
			for i, r := range x.runs {
				if r != nil {
					n.abandon(r.req)
				}
				x.runs[i] = nil
			}
		})
	}
	if left.lapse > 0 && q.leased {
		w.add("the lease of "+name+" ends", func(n *system) { n.left.lapse--; n.members[p].leased = false })
	}
	in := strings.Count(w.from.log, strings.ToUpper(name)) == strings.Count(w.from.log, name)
	if in && !q.leased {
		w.add(name+" is counted out", func(n *system) { n.log += strings.ToUpper(name) })
	}
	if !in && !q.dead && left.rejoin > 0 && q.knows == len(w.from.log) {
		w.add(name+" is taken in again", func(n *system) {
			n.left.rejoin--
			n.log += name
			rec, _ := w.m.values[n.log].Member(memberName(p))
			x := &n.members[p]
			x.inc, x.leased, x.knows = rec.Incarnation, true, len(n.log)
		})
	}
	if !q.dead && q.knows < len(w.from.log) {
		w.add(name+" hears of the cluster", func(n *system) { n.members[p].knows++ })
	}
}

// run adds the moves of what a member has to do with a call.
func (w *moves) run(p, i int) {
	q, name := &w.from.members[p], string(memberName(p))
	r := q.runs[i]
	switch {
	case r == nil:
		if d := w.from.calls[i]; q.leased && d.version != 0 && !d.call.State.Final() {
			w.add(fmt.Sprintf("%s lists %d", name, i), func(n *system) {
				n.members[p].runs[i] = &runner{listed: true, call: n.get(i).call, inc: q.inc, knows: q.knows}
			})
		}
		return
	case r.listed:
		w.add(fmt.Sprintf("%s reads the head, for %d", name, i), func(n *system) { w.m.consider(n, p, i) })
		return
	case r.req.kind != "":
		w.writes(r.req, func(n *system) *request {
			x := *n.members[p].runs[i]
			n.members[p].runs[i] = &x
			return &x.req
		}, func(n *system, a answer) { w.m.runHears(n, p, i, a) })
		return
	}
	switch r.fx.(type) {
	case getCall:
		w.reads(fmt.Sprintf("%s reads %d", name, i), func(n *system) answer { return n.get(i) },
			got{err: store.ErrUnavailable},
			func(n *system, a answer) { w.m.runHears(n, p, i, a) })
	case perform:
		w.performs(p, i, r)
	}
}

// consider is what a member does with a call that it has listed, when it has read the head of the page.
func (m model) consider(n *system, p, i int) {
	q := &n.members[p]
	r := *q.runs[i]
	q.runs[i] = nil
	if n.head.version == 0 || !(listed{r.call.Record, i, n.head.voids()}).waits() {
		return
	}
	me := claimant{memberName(p), string(memberName(p)), m.values[n.log[:r.knows]]}
	unbegun, ok := me.may(r.call.Record)
	if !ok {
		return
	}
	q.claims++
	r.listed = false
	r.a = attempt{id: strconv.Itoa(i), by: Runner{me.member, r.inc, fmt.Sprintf("%s-%d", me.nonce, q.claims)},
		unbegun: unbegun, call: r.call}
	r.call = stored{}
	r.a, r.fx = r.a.begin()
	m.runDoes(n, p, i, r)
}

// runHears takes an answer in.
func (m model) runHears(n *system, p, i int, a answer) {
	r := *n.members[p].runs[i]
	r.req = request{}
	r.a, r.fx = r.a.step(a)
	m.runDoes(n, p, i, r)
}

// runDoes begins what the run is to do next.
func (m model) runDoes(n *system, p, i int, r runner) {
	q := &n.members[p]
	for {
		switch fx := r.fx.(type) {
		case putCall:
			r.req = request{kind: aCall, from: fmt.Sprintf("%s for %d", memberName(p), i), number: i,
				version: fx.version, call: fx.record}
			if r.a.phase == ending {
				_, back := r.a.event.(release)
				of := r
				of.req = request{}
				r.req.run, r.req.back = &of, back && fx.record.State == Queued
			}
		case pause:
			r.a, r.fx = r.a.step(paused{})
			continue
		case confirm:
			r.a, r.fx = r.a.step(confirmed{q.leased && q.inc == r.inc})
			r.token = r.a.call.Token
			continue
		case perform:
			r.began = true
			m.begins(n, i, &r)
		case unclaimed, lost:
			q.runs[i] = nil
			return
		case told:
			if r.a.phase == ending && !r.written {
				n.breaks(promiseTold)
			}
			q.runs[i] = nil
			return
		}
		q.runs[i] = &r
		return
	}
}

// begins judges the beginning of a run.
func (m model) begins(n *system, i int, r *runner) {
	g, call := &n.ghosts[i], r.a.call
	at := stage(call.Record)
	g.begun[at]++
	switch {
	case g.void, g.refused:
		n.breaks(promiseOnce)
	case g.ended && at == 0:
		n.breaks(promiseFinal)
	case call.Token <= g.token:
		n.breaks(promiseToken)
	case int64(g.begun[at]) > m.attempts:
		n.breaks(promiseAttempts)
	}
	g.token = max(g.token, call.Token)
}

// performs adds the ends of the function, and what it may be told before.
func (w *moves) performs(p, i int, r *runner) {
	q, name := &w.from.members[p], string(memberName(p))
	end := func(what string, back way) {
		w.add(fmt.Sprintf("%s at %d %s", name, i, what), func(n *system) {
			r := *n.members[p].runs[i]
			r.a, r.fx = r.a.step(performed{back.event(r.a.id, r.a.call.Limits)})
			w.m.runDoes(n, p, i, r)
		})
	}
	end("has a result", way{result: json.RawMessage(strconv.FormatUint(r.token, 10))})
	if w.m.ways.err || r.wished || r.over {
		end("fails", way{err: errFunction})
	}
	if w.m.ways.permanent {
		end("fails for good", way{err: Permanent(errFunction)})
	}
	if w.m.ways.timeout {
		end("takes too long", way{err: errFunction, timedOut: true})
	}
	if !q.mayAct(r) {
		end("is handed back", way{err: errFunction, handed: true})
	}
	if !r.wished && !r.over {
		w.reads(fmt.Sprintf("%s looks after %d", name, i), func(n *system) answer { return n.get(i) },
			got{err: store.ErrUnavailable},
			func(n *system, a answer) {
				x := *n.members[p].runs[i]
				cause := interrupts(a.(got), x.a.by.Nonce, x.began)
				x.wished, x.over = errors.Is(cause, CauseCancelled), errors.Is(cause, CauseReplaced)
				n.members[p].runs[i] = &x
			})
	}
}

var errFunction = errors.New("no")
