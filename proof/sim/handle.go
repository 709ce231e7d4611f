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
)

// fate is what becomes of a call.
type fate uint8

const (
	fine       fate = iota
	noRequest       // it never arrives
	noReply         // it is done, nobody hears of it
	twice           // it is done twice
	later           // it is done after its caller has given up
	fails           // the store says that nothing was done
	oldListing      // it is answered with what was
	dirty           // an isolated copy of the store answers it
	half            // its first request is done, the next one reaches nobody
	halfHeard       // its first request is answered, the answer to the next one is lost
)

// next is the fate of the call's next request.
func (f fate) next() fate {
	switch f {
	case noRequest, half: // a caller that reaches nobody reaches nobody at its next try either
		return noRequest
	case halfHeard:
		return noReply
	case dirty:
		return dirty
	}
	return fine
}

// arrives tells whether the call's first request is done like any other, if the way is open.
func (f fate) arrives() bool { return f == fine || f == half || f == halfHeard || f == dirty }

// silent tells whether the caller hears nothing before its time is over.
func (f fate) silent() bool {
	switch f {
	case noRequest, noReply, later, half, halfHeard:
		return true
	}
	return false
}

// handle is one process's connection to the store. A call is made at one instant; the world delays what leads to it and
// its answer.
type handle struct {
	model.Handle
	d       *disk
	p       *process
	fate    fate
	patient *patient // nil for a call that waits for nothing
}

var _ machine.Store = (*handle)(nil)

func newHandle(d *disk, p *process) *handle {
	h := &handle{d: d, p: p}
	h.Side = h
	return h
}

// change makes one change under the call's fate, which is used up by it.
func (h *handle) change(do func() error) error {
	f := h.fate
	h.fate = f.next()
	if h.d.full && f.arrives() {
		return fmt.Errorf("no space left: %w", store.ErrUnavailable)
	}
	switch f {
	case noRequest, dirty:
		return store.ErrUnknown
	case fails:
		return store.ErrUnavailable
	case noReply:
		_ = do() // nobody hears of it
		return store.ErrUnknown
	case twice:
		err := do()
		_ = do()
		return err
	case later:
		w := h.d.w
		wait := w.chance.between(int64(time.Second), int64(2*time.Minute))
		w.late = max(w.late, w.now+wait)
		w.after(wait, func() { _ = do() })
		return store.ErrUnknown
	}
	return do()
}

// ask tells whether a question is answered.
func (h *handle) ask() error {
	switch h.fate {
	case noRequest, noReply:
		return context.DeadlineExceeded
	case fails:
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
	case r.Kind == model.Put && s == nil && h.fate == dirty:
		h.d.strand(r.Doc)
	}
	a.Err = h.change(func() error { return h.write(r, s, &a) })
	return a, true
}

func (h *handle) read(r model.Request, a *model.Answer) {
	switch r.Kind {
	case model.Get:
		get := h.d.docs.Get
		if h.fate == dirty {
			get = h.d.older.get
		}
		a.Doc, a.Err = get(r.Doc.Key)
	case model.List:
		list := h.d.docs.List
		if h.fate == oldListing || h.fate == dirty {
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
