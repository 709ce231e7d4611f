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

// handle is one process's connection to the store. A call is made at one instant; the world delays what leads to it and
// its answer.
type handle struct {
	model.Handle
	d       *disk
	p       *process
	fate    model.Fate
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
