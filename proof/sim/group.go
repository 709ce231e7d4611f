package sim

import (
	"context"
	"iter"
	"time"

	"github.com/rota-run/rota/proof/sim/machine"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
)

// room is the group of a store that has one: a state machine that the world feeds.
type room struct {
	w     *world
	group memory.Group
	calls uint64
	waits map[uint64]func(memory.GroupAnswer)
	turns uint64 // so far: a deadline that was set in an earlier one is void
	// forgotten is how often the group began again, with small generations.
	forgotten uint64
}

func newRoom(w *world) *room {
	return &room{w: w, group: memory.NewGroup(0), waits: map[uint64]func(memory.GroupAnswer){}}
}

// step feeds one request, or none.
func (r *room) step(c memory.GroupCall) {
	var answers []memory.GroupAnswer
	r.group, answers = r.group.Step(time.Duration(r.w.now), c)
	r.turns++
	turn := r.turns
	if at, ok := r.group.Deadline(); ok {
		r.w.after(int64(at)-r.w.now, func() {
			if turn == r.turns {
				r.step(memory.GroupCall{})
			}
		})
	} else if r.w.machine.Has(machine.GroupForgets) && r.w.chance.oneIn(2) {
		r.w.after(r.w.chance.between(0, int64(10*time.Second)), r.forget)
	}
	for _, a := range answers {
		if heard := r.waits[a.Call]; heard != nil {
			delete(r.waits, a.Call)
			heard(a)
		}
	}
}

// forget is what becomes of a group that nobody is in.
func (r *room) forget() {
	if _, busy := r.group.Deadline(); !busy {
		r.w.count(machine.GroupForgets, machine.Cluster)
		r.forgotten++
		r.step(memory.GroupCall{Forget: true})
	}
}

// ask makes a request; heard may be called before it returns.
func (r *room) ask(c memory.GroupCall, heard func(memory.GroupAnswer)) uint64 {
	r.calls++
	c.Call = r.calls
	r.waits[c.Call] = heard
	r.step(c)
	return c.Call
}

// storm lets strangers join for a while: each makes the group form another generation, and says nothing that a member says.
func (r *room) storm(d chance) {
	for range d.between(2, 8) {
		r.w.after(d.between(0, 3*int64(r.w.plan.ttl)), func() {
			if r.w.healing {
				return
			}
			request := store.JoinRequest{Data: []byte("a stranger"), Session: r.w.plan.ttl, Rebalance: r.w.plan.ttl}
			r.ask(memory.GroupCall{Join: &request}, func(memory.GroupAnswer) {})
		})
	}
}

// patient is a call to the group that may have to wait for others: it goes on where it stopped when the answer is there, or its time is over.
type patient struct {
	p      *process
	answer *memory.GroupAnswer
	late   bool
	pause  func() // until more is known
	goOn   func()
}

type patientKey struct{}

// callGroup makes a call to the group. It is answered at the latest at the deadline.
func (p *process) callGroup(e machine.Effect, f fate, sent protocol.Instant, back, deadline int64) {
	q := &patient{p: p}
	var ev machine.Event
	over := false
	next, _ := iter.Pull(func(yield func(struct{}) bool) {
		q.pause = func() { yield(struct{}{}) }
		ev = p.caller.Call(context.WithValue(context.Background(), patientKey{}, q), e)
	})
	reply := func() { // its way back
		over = true
		at := max(p.w.now, deadline)
		if !f.silent() {
			at = min(p.w.now+back, at)
		}
		p.w.after(at-p.w.now, func() { p.answer(ev, sent) })
	}
	q.goOn = func() {
		if over {
			return
		}
		if _, waits := next(); !waits {
			reply()
		}
	}
	p.handle.fate = f
	p.sent = &sent
	q.goOn()
	p.sent = nil
	p.w.after(deadline-p.w.now, func() {
		q.late = true
		q.goOn()
	})
}

// request makes a request to the group under the call's fate.
func (h *handle) request(ctx context.Context, c memory.GroupCall) (memory.GroupAnswer, error) {
	r, f := h.d.room, h.fate
	h.fate = f.next()
	silent := func(memory.GroupAnswer) {}
	q, _ := ctx.Value(patientKey{}).(*patient)
	switch {
	case f == noRequest:
		return memory.GroupAnswer{}, store.ErrUnknown
	case f == fails:
		return memory.GroupAnswer{}, store.ErrUnavailable
	case f == later:
		w := h.d.w
		w.after(w.chance.between(int64(time.Second), int64(2*time.Minute)), func() { r.ask(c, silent) })
		return memory.GroupAnswer{}, store.ErrUnknown
	case f == noReply || q == nil: // the process ends, and waits for nothing
		r.ask(c, silent)
		return memory.GroupAnswer{}, store.ErrUnknown
	case f == twice:
		r.ask(c, silent)
	}
	return q.wait(c)
}

// wait makes a request and waits for its answer.
func (q *patient) wait(c memory.GroupCall) (memory.GroupAnswer, error) {
	r, waits := q.p.w.disk.room, false
	call := r.ask(c, func(a memory.GroupAnswer) {
		if q.p.cutIn || q.p.w.disk.away {
			return // it is lost
		}
		q.answer = &a
		if waits {
			q.p.w.after(0, q.goOn)
		}
	})
	for q.answer == nil && !q.late {
		waits = true
		q.pause()
	}
	if q.answer == nil {
		delete(r.waits, call)
		return memory.GroupAnswer{Membership: store.Membership{Seat: store.Seat{ID: r.group.Waiting(call)}}}, store.ErrUnknown
	}
	return *q.answer, q.answer.Err
}

// JoinGroup implements store.Group.
func (h *handle) JoinGroup(ctx context.Context, j store.JoinRequest) (store.Membership, error) {
	a, err := h.request(ctx, memory.GroupCall{Join: &j})
	return a.Membership, err
}

// SyncGroup implements store.Group.
func (h *handle) SyncGroup(ctx context.Context, s store.Seat, give []store.GroupMember) ([]byte, error) {
	a, err := h.request(ctx, memory.GroupCall{Sync: &s, Give: give})
	return a.Given, err
}

// Heartbeat implements store.Group.
func (h *handle) Heartbeat(ctx context.Context, s store.Seat) error {
	_, err := h.request(ctx, memory.GroupCall{Beat: &s})
	return err
}

// LeaveGroup implements store.Group.
func (h *handle) LeaveGroup(ctx context.Context, id string) error {
	_, err := h.request(ctx, memory.GroupCall{Leave: id})
	return err
}

// endsPlace is what the key of a place in the group begins with.
const endsPlace = "place "

// EndPlace implements store.EndableGroup.
func (h *handle) EndPlace(id string) store.EndKey { return store.EndKey{Text: endsPlace + id} }
