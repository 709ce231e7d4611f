package sim

import (
	"context"
	"slices"
	"time"

	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/protocol/replica"
)

// call makes a store call: a request, the instant at which the store does it, an answer. Each may be late or lost.
func (p *process) call(e replica.Effect) {
	w := p.w
	if !isCall(e) {
		return
	}
	f, kind := p.fateOf(e)
	if _, lists := e.(replica.ListPulses); lists && w.now < p.unlisted && !w.healing {
		f = noRequest
	}
	sent := p.clock.at(w.now)
	timeout := int64(p.caller.Timeout(e))
	there, back := p.delay(), p.delay()
	f, there, back = p.strain(kind, e, f, there, back)
	deadline := w.now + timeout
	w.after(there, func() {
		lost := p.cutOut || w.disk.away
		if f.arrives() && (lost || w.now >= deadline) {
			f = noRequest
		}
		if f == fine && (p.cutIn || w.now+back >= deadline) {
			f = noReply
		}
		if !p.up && (f == noRequest || w.plan.mode == KernelLock) {
			return // what a process on this machine had not yet done it will not do
		}
		ev := p.make(e, f, sent) // a request that is on its way is done, also when its sender dies meanwhile
		at := w.now + back
		if f.silent() {
			at = max(deadline, w.now)
		}
		w.after(at-w.now, func() { p.answer(ev, sent) })
	})
}

// strain is what a fault makes of a call: its fate, and how long its request and its answer take.
func (p *process) strain(kind Kind, e replica.Effect, f fate, there, back int64) (fate, int64, int64) {
	w, timeout := p.w, int64(p.caller.Timeout(e))
	switch kind {
	case SlowCall:
		there, back = p.chance.between(0, timeout), p.chance.between(0, timeout)
	case LateLook:
		back = p.chance.between(timeout*7/10, timeout*9/10)
		p.unlisted = w.now + there + back
		w.after(there+back, func() { w.deafen(e.(replica.CheckPulse).Key) })
	case HalfCall:
		if f = half; p.chance.oneIn(2) {
			f = halfHeard
		} // a call of one request is answered at the last instant
		w.after(there+1, func() { w.cutFor(p, p.chance.between(int64(w.plan.ttl)/2, 3*int64(w.plan.ttl))) })
	case LastAnswer:
		back = p.chance.between(timeout/2, timeout*9/10)
		w.after(there+back, func() { w.cutFor(p, 3*int64(w.plan.ttl)) })
	}
	return f, there, back
}

// make lets the real caller make the call at this instant.
func (p *process) make(e replica.Effect, f fate, sent protocol.Instant) replica.Event {
	p.handle.fate = f
	now := p.caller.Now
	p.caller.Now = func() protocol.Instant { return sent }
	ev := p.caller.Call(context.Background(), e)
	p.caller.Now = now
	return ev
}

func (p *process) answer(ev replica.Event, sent protocol.Instant) {
	if ev == nil || !p.up {
		return
	}
	if int64(sent) < p.newest {
		p.w.count(Reorder, clusterPhase)
	}
	p.newest = max(p.newest, int64(sent))
	p.post(ev)
}

func (p *process) delay() int64 {
	return p.chance.between(int64(50*time.Microsecond), p.w.plan.slow*int64(time.Millisecond)/2)
}

// fateOf uses up the first armed fault that suits the call.
func (p *process) fateOf(e replica.Effect) (fate, Kind) {
	phase := p.state.Phase()
	i := slices.IndexFunc(p.armed, func(a armed) bool {
		return (a.phase == anyPhase || a.phase == phase) && suits(a.kind, e)
	})
	if i < 0 {
		return fine, ""
	}
	k := p.armed[i].kind
	p.armed = slices.Delete(p.armed, i, i+1)
	p.w.count(k, phase)
	return map[Kind]fate{
		SlowCall: fine, LastAnswer: fine, LostRequest: noRequest, LostReply: noReply, Duplicate: twice, LateWrite: later, FailedCall: fails, StaleList: oldListing,
	}[k], k
}

func isCall(e replica.Effect) bool {
	switch e.(type) {
	case replica.ReadLog, replica.ReadSnapshot, replica.Append, replica.Renew, replica.CheckPulse, replica.ListPulses, replica.DropPulse, replica.SaveSnapshot:
		return true
	}
	return false
}

func suits(k Kind, e replica.Effect) bool {
	switch k {
	case HalfCall:
		r, ok := e.(replica.Renew)
		return ok && r.Create
	case LateLook:
		_, ok := e.(replica.CheckPulse)
		return ok
	}
	switch e.(type) {
	case replica.Renew:
		return k != StaleList
	case replica.Append:
		return k != StaleList && k != LastAnswer
	case replica.ListPulses:
		return k != Duplicate && k != LateWrite && k != LastAnswer
	}
	return k != StaleList && k != Duplicate && k != LateWrite && k != LastAnswer
}

// stamped is the event with the instant at which it reached the loop.
func stamped(ev replica.Event, now protocol.Instant) replica.Event {
	switch e := ev.(type) {
	case replica.Woken:
		e.Now = now
		return e
	case replica.Hinted:
		e.Now = now
		return e
	case replica.Read:
		e.Now = now
		return e
	case replica.SnapshotRead:
		e.Now = now
		return e
	case replica.Appended:
		e.Now = now
		return e
	case replica.Renewed:
		e.Now = now
		return e
	case replica.PulseSeen:
		e.Now = now
		return e
	case replica.PulsesListed:
		e.Now = now
		return e
	case replica.SnapshotSaved:
		e.Now = now
		return e
	case replica.Reported:
		e.Now = now
		return e
	case replica.Proposed:
		e.Now = now
		return e
	case replica.Closed:
		e.Now = now
		return e
	case replica.Stop:
		e.Now = now
		return e
	}
	return ev
}
