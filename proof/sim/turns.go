package sim

import (
	"math"

	"github.com/rota-run/rota/proof/sim/machine"
	"github.com/rota-run/rota/proof/sim/model"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
)

// Calls that are made in turns. Callers make a call in one go: it is made again from its beginning for each turn.

// tear makes a call that reads in several requests, and between them others go on.
func (p *process) tear(e machine.Effect, sent protocol.Instant, back, timeout, deadline int64) {
	w := p.w
	t := &model.Turn{}
	var part func()
	part = func() {
		f, at := fine, w.now+back
		most := len(t.Answers) + int(pick(p.chance, []int64{1, 2, 5, 20, 60}))
		if w.healing {
			most = math.MaxInt
		}
		if p.cutOut || p.cutIn || w.disk.away || at >= deadline {
			f, at, most = noReply, max(deadline, w.now), math.MaxInt
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

// patient is a call to the group that may have to wait for others: it goes on where it stopped when the answer is there, or its time is over.
type patient struct {
	p    *process
	turn model.Turn
	call uint64 // the newest request
	goOn func()
}

// callGroup makes a call to the group. It is answered at the latest at the deadline.
func (p *process) callGroup(e machine.Effect, f fate, sent protocol.Instant, back, deadline int64) {
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
		if !f.silent() {
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
