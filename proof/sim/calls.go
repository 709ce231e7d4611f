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

// attempt is a store call: a request, the instant at which the store does it, an answer. Each may be late or lost.
// Callers make a call in one go: where it has to wait, it is made again from its beginning with the answers that there
// are.
type attempt struct {
	p        *process
	effect   machine.Effect
	fate     model.Fate // of what is yet to be asked
	silent   bool       // no answer comes before its time is over
	over     bool
	sent     protocol.Instant
	timeout  int64
	deadline int64 // of true time
	there    int64 // how long the request takes
	back     int64 // and the answer
	turn     model.Turn
	most     int    // requests that are answered by the end of the turn
	call     uint64 // the newest request to the group
}

// call makes a store call.
func (p *process) call(e machine.Effect, c machine.Call) {
	w := p.w
	if c.Keep {
		w.saved = w.oracle.ref.Applied()
	}
	f, kind := p.doom(c)
	timeout := int64(p.caller.Timeout(e))
	a := &attempt{p: p, effect: e, fate: f, sent: p.clock.at(w.now), timeout: timeout, deadline: w.now + timeout,
		there: p.delay(), back: p.delay(), most: math.MaxInt}
	a.strain(kind, c)
	w.after(a.there, func() {
		lost := p.cutOut || w.disk.away
		if a.fate.Arrives() && (lost || w.now >= a.deadline) {
			a.fate = model.NoRequest
		}
		if (a.fate == model.Fine || a.fate == model.Dirty) && (p.cutIn || w.now+a.back >= a.deadline) {
			a.fate = model.NoReply
		}
		if !p.up && (a.fate == model.NoRequest || w.plan.mode == KernelLock) {
			return // what a process on this machine had not yet done it will not do
		}
		if kind == machine.TornCall && a.fate == model.Fine {
			a.tear()
			return
		}
		a.goOn() // a request that is on its way is done, also when its sender dies meanwhile
		if c.Group {
			w.after(a.deadline-w.now, a.expire)
		}
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
func (a *attempt) strain(kind machine.Kind, c machine.Call) {
	p, w := a.p, a.p.w
	switch kind {
	case machine.SlowCall:
		a.there, a.back = p.chance.between(0, a.timeout), p.chance.between(0, a.timeout)
	case machine.LateLook:
		a.back = p.chance.between(a.timeout*7/10, a.timeout*9/10)
		p.unlisted = w.now + a.there + a.back
		w.after(a.there+a.back, func() { // were the other counted out wrongly now, it would not hear of that
			for _, o := range w.processes(func(o *process) bool { return o.name == c.Whom }) {
				w.cut(o, machine.CutIn, int64(w.plan.ttl))
			}
		})
	case machine.HalfCall:
		if a.fate = model.Half; p.chance.oneIn(2) {
			a.fate = model.HalfHeard
		} // a call of one request is answered at the last instant
		w.after(a.there+1, func() { w.cut(p, machine.Cut, p.chance.between(int64(w.plan.ttl)/2, 3*int64(w.plan.ttl))) })
	case machine.CrashAfterWrite:
		w.after(a.there+1, p.die)
	case machine.LastAnswer, machine.LateIndex:
		a.back = p.chance.between(a.timeout/2, a.timeout*9/10)
		w.after(a.there+a.back, func() { w.cut(p, machine.Cut, 3*int64(w.plan.ttl)) })
	}
}

// goOn lets the real caller make the call at this instant.
func (a *attempt) goOn() {
	if a.over {
		return
	}
	p, w, h := a.p, a.p.w, a.p.handle
	a.silent = a.silent || a.fate.Silent()
	a.turn.Begin(a.most)
	h.fate, h.Turn, h.attempt = a.fate, &a.turn, a
	ev := p.caller.Call(context.Background(), a.effect)
	a.fate, h.Turn, h.attempt = h.fate, nil, nil
	if a.over = !a.turn.Stopped(); !a.over {
		return
	}
	at := max(w.now, a.deadline)
	if !a.silent {
		at = min(w.now+a.back, at)
	}
	w.after(at-w.now, func() {
		if ev == nil || !p.up {
			return
		}
		if int64(a.sent) < p.newest {
			w.count(machine.Reorder, machine.Cluster)
		}
		p.newest = max(p.newest, int64(a.sent))
		p.post(ev)
	})
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

// tear makes a call that reads in several requests, and between them others go on.
func (a *attempt) tear() {
	p, w := a.p, a.p.w
	a.most = len(a.turn.Answers) + int(pick(p.chance, []int64{1, 2, 5, 20, 60}))
	if w.healing {
		a.most = math.MaxInt
	}
	if p.cutOut || p.cutIn || w.disk.away || w.now+a.back >= a.deadline {
		a.fate, a.most = model.NoReply, math.MaxInt
	}
	if a.goOn(); !a.over {
		w.after(p.chance.between(1, a.timeout/4), func() { p.reaches(a.tear) })
	}
}

// ask makes a request to the group, and goes on with its answer where that has to be waited for.
func (a *attempt) ask(c memory.GroupCall) (now model.Answer, answered bool) {
	w, waits := a.p.w, false
	a.call = w.disk.room.ask(c, func(said memory.GroupAnswer) {
		if a.p.cutIn || w.disk.away {
			return // it is lost
		}
		if now, answered = (model.Answer{Group: said, Err: said.Err}), true; waits {
			a.turn.Answers = append(a.turn.Answers, now)
			w.after(0, a.goOn)
		}
	})
	waits = true
	return now, answered
}

// expire is the deadline of a call to the group: it has waited for others long enough.
func (a *attempt) expire() {
	if a.over {
		return
	}
	room := a.p.w.disk.room
	delete(room.waits, a.call)
	place := store.Membership{Seat: store.Seat{ID: room.group.Waiting(a.call)}}
	a.turn.Answers = append(a.turn.Answers,
		model.Answer{Group: memory.GroupAnswer{Membership: place}, Err: store.ErrUnknown})
	a.goOn()
}
