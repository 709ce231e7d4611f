package sim

import (
	"context"
	"math"
	"time"

	"github.com/rota-run/rota/proof/sim/machine"
	"github.com/rota-run/rota/proof/sim/model"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
)

// call makes a store call: a request, the instant at which the store does it, an answer. Each may be late or lost.
func (p *process) call(e machine.Effect, c machine.Call) {
	w := p.w
	if c.Keep {
		w.saved = w.oracle.ref.Applied()
	}
	f, kind := p.doom(c)
	sent := p.clock.at(w.now)
	timeout := int64(p.caller.Timeout(e))
	there, back := p.delay(), p.delay()
	f, there, back = p.strain(kind, c, timeout, f, there, back)
	deadline := w.now + timeout
	w.after(there, func() {
		lost := p.cutOut || w.disk.away
		if f.Arrives() && (lost || w.now >= deadline) {
			f = model.NoRequest
		}
		if (f == model.Fine || f == model.Dirty) && (p.cutIn || w.now+back >= deadline) {
			f = model.NoReply
		}
		if !p.up && (f == model.NoRequest || w.plan.mode == KernelLock) {
			return // what a process on this machine had not yet done it will not do
		}
		if c.Group {
			p.callGroup(e, f, sent, back, deadline)
			return
		}
		if kind == machine.TornCall && f == model.Fine {
			p.tear(e, sent, back, timeout, deadline)
			return
		}
		ev := p.make(e, f, sent) // a request that is on its way is done, also when its sender dies meanwhile
		at := w.now + back
		if f.Silent() {
			at = max(deadline, w.now)
		}
		w.after(at-w.now, func() { p.answer(ev, sent) })
	})
}

// doom is the fate of a call, by chance and by what goes on for a while.
func (p *process) doom(c machine.Call) (model.Fate, machine.Kind) {
	w := p.w
	kind := p.takes(func(k machine.Kind) bool {
		suits := w.machine.Info(k).Suits
		return suits != nil && suits(c)
	})
	f := fates[kind]
	if c.List && w.now < p.unlisted && !w.healing {
		f = model.NoRequest
	}
	if kind == machine.DirtyRead {
		p.isolated = w.now + p.chance.between(int64(w.plan.ttl)/16, int64(w.plan.ttl))
	}
	if f == model.Fine && w.now < p.isolated && !w.healing {
		f = model.Dirty
	}
	return f, kind
}

// strain is what a fault makes of a call: its fate, and how long its request and its answer take.
func (p *process) strain(kind machine.Kind, c machine.Call, timeout int64, f model.Fate, there,
	back int64) (model.Fate, int64, int64) {
	w := p.w
	switch kind {
	case machine.SlowCall:
		there, back = p.chance.between(0, timeout), p.chance.between(0, timeout)
	case machine.LateLook:
		back = p.chance.between(timeout*7/10, timeout*9/10)
		p.unlisted = w.now + there + back
		w.after(there+back, func() { // were the other counted out wrongly now, it would not hear of that
			for _, o := range w.processes(func(o *process) bool { return o.name == c.Whom }) {
				w.cut(o, machine.CutIn, int64(w.plan.ttl))
			}
		})
	case machine.HalfCall:
		if f = model.Half; p.chance.oneIn(2) {
			f = model.HalfHeard
		} // a call of one request is answered at the last instant
		w.after(there+1, func() { w.cut(p, machine.Cut, p.chance.between(int64(w.plan.ttl)/2, 3*int64(w.plan.ttl))) })
	case machine.CrashAfterWrite:
		w.after(there+1, p.die)
	case machine.LastAnswer, machine.LateIndex:
		back = p.chance.between(timeout/2, timeout*9/10)
		w.after(there+back, func() { w.cut(p, machine.Cut, 3*int64(w.plan.ttl)) })
	}
	return f, there, back
}

// make lets the real caller make the call at this instant.
func (p *process) make(e machine.Effect, f model.Fate, sent protocol.Instant) machine.Event {
	p.handle.fate = f
	p.sent = &sent
	defer func() { p.sent = nil }()
	return p.caller.Call(context.Background(), e)
}

func (p *process) answer(ev machine.Event, sent protocol.Instant) {
	if ev == nil || !p.up {
		return
	}
	if int64(sent) < p.newest {
		p.w.count(machine.Reorder, machine.Cluster)
	}
	p.newest = max(p.newest, int64(sent))
	p.post(ev)
}

func (p *process) delay() int64 {
	return p.chance.between(int64(50*time.Microsecond), p.w.plan.slow*int64(time.Millisecond)/2)
}

// fates are those of the kinds that are no more than one.
// read-only: a table.
var fates = map[machine.Kind]model.Fate{
	machine.LostRequest: model.NoRequest, machine.LostReply: model.NoReply, machine.Duplicate: model.Twice,
	machine.LateWrite: model.Later, machine.FailedCall: model.Fails, machine.StaleList: model.OldListing,
	machine.DirtyRead: model.Dirty,
}

// Calls that are made in turns. Callers make a call in one go: it is made again from its beginning for each turn.

// tear makes a call that reads in several requests, and between them others go on.
func (p *process) tear(e machine.Effect, sent protocol.Instant, back, timeout, deadline int64) {
	w := p.w
	t := &model.Turn{}
	var part func()
	part = func() {
		f, at := model.Fine, w.now+back
		most := len(t.Answers) + int(pick(p.chance, []int64{1, 2, 5, 20, 60}))
		if w.healing {
			most = math.MaxInt
		}
		if p.cutOut || p.cutIn || w.disk.away || at >= deadline {
			f, at, most = model.NoReply, max(deadline, w.now), math.MaxInt
		}
		t.Begin(most)
		p.handle.Turn = t
		ev := p.make(e, f, sent)
		p.handle.Turn = nil
		if t.Stopped() {
			w.after(p.chance.between(1, timeout/4), func() { p.reaches(part) })
			return
		}
		w.after(at-w.now, func() { p.answer(ev, sent) })
	}
	part()
}

// patient is a call to the group that may have to wait for others: it goes on where it stopped when the answer is
// there, or its time is over.
type patient struct {
	p    *process
	turn model.Turn
	call uint64 // the newest request
	goOn func()
}

// callGroup makes a call to the group. It is answered at the latest at the deadline.
func (p *process) callGroup(e machine.Effect, f model.Fate, sent protocol.Instant, back, deadline int64) {
	w, q, next, over := p.w, &patient{p: p}, f, false
	q.goOn = func() {
		if over {
			return
		}
		q.turn.Begin(math.MaxInt)
		p.handle.Turn, p.handle.patient = &q.turn, q
		ev := p.make(e, next, sent)
		p.handle.Turn, p.handle.patient, next = nil, nil, p.handle.fate
		if q.turn.Stopped() {
			return
		}
		over = true
		at := max(w.now, deadline) // its way back
		if !f.Silent() {
			at = min(w.now+back, at)
		}
		w.after(at-w.now, func() { p.answer(ev, sent) })
	}
	q.goOn()
	w.after(deadline-w.now, func() {
		if !over {
			delete(w.disk.room.waits, q.call)
			place := memory.GroupAnswer{Membership: store.Membership{Seat: store.Seat{ID: w.disk.room.group.Waiting(q.call)}}}
			q.turn.Answers = append(q.turn.Answers, model.Answer{Group: place, Err: store.ErrUnknown})
			q.goOn()
		}
	})
}

// ask makes a request, and goes on with its answer where that has to be waited for.
func (q *patient) ask(c memory.GroupCall) (a model.Answer, answered bool) {
	w, waits := q.p.w, false
	q.call = w.disk.room.ask(c, func(said memory.GroupAnswer) {
		if q.p.cutIn || w.disk.away {
			return // it is lost
		}
		if a, answered = (model.Answer{Group: said, Err: said.Err}), true; waits {
			q.turn.Answers = append(q.turn.Answers, a)
			w.after(0, q.goOn)
		}
	})
	waits = true
	return a, answered
}
