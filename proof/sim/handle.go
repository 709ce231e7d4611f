package sim

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/rota-run/rota/proof/sim/machine"
	"github.com/rota-run/rota/proof/sim/model"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
)

// handle is one process's connection to the store. A call is made at one instant; the world delays what leads to it and
// its answer.
type handle struct {
	model.Handle
	d       *disk
	p       *process
	fate    model.Fate
	attempt *attempt // nil while the process ends: it waits for nothing
}

var _ machine.Store = (*handle)(nil)

// change makes one change under the call's fate, which is used up by it.
func (h *handle) change(do func() error) error {
	f := h.fate
	h.fate = f.Next()
	if h.d.full && f.Arrives() {
		return fmt.Errorf("no space left: %w", store.ErrUnavailable)
	}
	return f.Change(do, h.later)
}

// later does something after the caller has given up.
func (h *handle) later(do func()) {
	w := h.d.w
	wait := w.chance.between(int64(time.Second), int64(2*time.Minute))
	w.late = max(w.late, w.now+wait)
	w.after(wait, do)
}

// ask tells whether a question is answered.
func (h *handle) ask() error {
	switch h.fate {
	case model.NoRequest, model.NoReply:
		return context.DeadlineExceeded
	case model.Fails:
		return store.ErrUnavailable
	}
	return nil
}

// Do implements [model.Side].
func (h *handle) Do(r model.Request) (a model.Answer, answered bool) {
	s, _ := r.Session.(*session)
	switch {
	case r.Kind == model.Group:
		return h.request(r.Group)
	case r.Kind < model.Put:
		if a.Err = h.ask(); a.Err == nil {
			h.read(r, &a)
		}
		return a, true
	case r.Kind == model.Put && s != nil && s.forsaken():
		a.Err = store.ErrSession
		return a, true
	case r.Kind == model.Put && s == nil && h.fate == model.Dirty:
		h.d.strand(r.Doc)
	}
	a.Err = h.change(func() error { return h.write(r, s, &a) })
	return a, true
}

func (h *handle) read(r model.Request, a *model.Answer) {
	switch r.Kind {
	case model.Get:
		get := h.d.docs.Get
		if h.fate == model.Dirty {
			get = h.d.older.get
		}
		a.Doc, a.Err = get(r.Doc.Key)
	case model.List:
		list := h.d.docs.List
		if h.fate == model.OldListing || h.fate == model.Dirty {
			list = h.d.older.docs.List // writes that are not acknowledged are in none
		}
		a.Docs = list(r.Doc.Key)
	case model.Read:
		a.Page, a.Err = h.d.read(r.Record.Index, r.Limit)
	case model.Snapshot:
		if a.Record = h.d.snapshot; a.Record.Index == 0 {
			a.Err = store.ErrNotFound
		}
	}
}

// write makes a change, which may be made twice.
func (h *handle) write(r model.Request, s *session, a *model.Answer) error {
	switch r.Kind {
	case model.Put:
		return h.put(r.Doc, s, a)
	case model.Delete:
		return h.d.delete(r.Doc.Key, r.Doc.Version)
	case model.Append:
		a.Record.Index = h.d.append(r.Record.Data)
	case model.SaveSnapshot:
		if r.Record.Index > h.d.snapshot.Index {
			h.d.snapshot = r.Record
		}
	case model.Trim:
		h.d.trim(r.Record.Index)
	case model.Open:
		a.Session = h.d.open(h.p, r.TTL)
	case model.Close:
		s.end()
	}
	return nil
}

// put writes a document. The answer of one that is made twice is that of the first. An acknowledged one renews the
// session.
func (h *handle) put(doc store.Doc, s *session, a *model.Answer) error {
	by := h.p
	if s != nil {
		if by = nil; s.over {
			return store.ErrSession
		}
	}
	v, err := h.d.put(doc, s, by)
	if err != nil {
		return err
	}
	if a.Doc.Version = v; s != nil {
		s.heard = h.d.w.now
	}
	return nil
}

// EndKey implements store.Endable, for where there are no sessions.
func (h *handle) EndKey(docs ...string) store.EndKey {
	return store.EndKey{Text: strings.Join(append([]string{strconv.Itoa(h.p.id)}, docs...), " ")}
}

// End implements [model.Side].
func (h *handle) End(s any, _ []string) store.EndKey {
	return store.EndKey{Text: strconv.Itoa(s.(*session).id)}
}

// SessionsExpire implements store.Sessions.
func (h *handle) SessionsExpire() bool { return h.d.w.plan.mode == Leases }

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
	r, f := h.d.room, h.fate
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
	case f == model.NoReply || h.attempt == nil:
		r.ask(c, silent)
		return unknown, true
	case f == model.Twice:
		r.ask(c, silent)
	}
	return h.attempt.ask(c)
}

// endsPlace is what the key of a place in the group begins with.
const endsPlace = "place "

// EndPlace implements store.EndableGroup.
func (h *handle) EndPlace(id string) store.EndKey { return store.EndKey{Text: endsPlace + id} }
