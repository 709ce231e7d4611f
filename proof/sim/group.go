package sim

import (
	"time"

	"github.com/rota-run/rota/proof/sim/machine"
	"github.com/rota-run/rota/proof/sim/model"
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

// storm lets strangers join for a while: each makes the group form another generation, and says nothing that a member
// says.
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

// request makes a request to the group under the call's fate.
func (h *handle) request(c memory.GroupCall) (model.Answer, bool) {
	r, f, q := h.d.room, h.fate, h.patient
	h.fate = f.Next()
	silent := func(memory.GroupAnswer) {}
	unknown := model.Answer{Err: store.ErrUnknown}
	switch {
	case f == model.NoRequest:
		return unknown, true
	case f == model.Fails:
		return model.Answer{Err: store.ErrUnavailable}, true
	case f == model.Later:
		w := h.d.w
		w.after(w.chance.between(int64(time.Second), int64(2*time.Minute)), func() { r.ask(c, silent) })
		return unknown, true
	case f == model.NoReply || q == nil: // the process ends, and waits for nothing
		r.ask(c, silent)
		return unknown, true
	case f == model.Twice:
		r.ask(c, silent)
	}
	return q.ask(c)
}

// endsPlace is what the key of a place in the group begins with.
const endsPlace = "place "

// EndPlace implements store.EndableGroup.
func (h *handle) EndPlace(id string) store.EndKey { return store.EndKey{Text: endsPlace + id} }
