package sim

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

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

// handle is one process's connection to the store. A call is made at one instant; the world delays what leads to it and its answer.
type handle struct {
	d    *disk
	p    *process
	fate fate
	torn *torn // nil for a call that is made in one go
}

var (
	_ store.Full     = (*handle)(nil)
	_ store.Sessions = (*handle)(nil)
)

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

// Close ends the sessions of the handle.
func (h *handle) Close() error { return nil }

// Get implements store.Docs.
func (h *handle) Get(_ context.Context, key string) (store.Doc, error) {
	docs, err := h.torn.read(func() ([]store.Doc, error) {
		if err := h.ask(); err != nil {
			return nil, err
		}
		get := h.d.get
		if h.fate == dirty {
			get = h.d.older.get
		}
		doc, err := get(key)
		return []store.Doc{doc}, err
	})
	if err != nil {
		return store.Doc{}, err
	}
	return docs[0], nil
}

// Put implements store.Docs.
func (h *handle) Put(_ context.Context, doc store.Doc) (v store.Version, err error) {
	if h.fate == dirty {
		h.d.strand(doc)
	}
	err = h.change(func() error { return h.d.putTo(&v, doc, nil, h.p) })
	return v, err
}

// Delete implements store.Docs.
func (h *handle) Delete(_ context.Context, key string, v store.Version) error {
	return h.change(func() error { return h.d.delete(key, v) })
}

// List implements store.Docs.
func (h *handle) List(_ context.Context, prefix string) ([]store.Doc, error) {
	return h.torn.read(func() ([]store.Doc, error) {
		if err := h.ask(); err != nil {
			return nil, err
		}
		if h.fate == oldListing || h.fate == dirty {
			return h.d.older.list(prefix), nil
		}
		return h.d.list(prefix), nil
	})
}

// Append implements store.Log.
func (h *handle) Append(_ context.Context, data []byte) (index uint64, err error) {
	err = h.change(func() error { index = h.d.append(data); return nil })
	return index, err
}

// Read implements store.Log.
func (h *handle) Read(_ context.Context, after uint64, limit int) (store.Page, error) {
	if err := h.ask(); err != nil {
		return store.Page{}, err
	}
	return h.d.read(after, limit)
}

// Snapshot implements store.Log.
func (h *handle) Snapshot(context.Context) (store.Record, error) {
	if err := h.ask(); err != nil {
		return store.Record{}, err
	}
	if h.d.snapshot.Index == 0 {
		return store.Record{}, store.ErrNotFound
	}
	return h.d.snapshot, nil
}

// SaveSnapshot implements store.Log.
func (h *handle) SaveSnapshot(_ context.Context, s store.Record) error {
	return h.change(func() error {
		if s.Index > h.d.snapshot.Index {
			h.d.snapshot = s
		}
		return nil
	})
}

// Trim implements store.Log.
func (h *handle) Trim(_ context.Context, index uint64) error {
	return h.change(func() error { h.d.trim(index); return nil })
}

// EndKey implements store.Endable, for where there are no sessions.
func (h *handle) EndKey(docs ...string) store.EndKey {
	return store.EndKey{Text: strings.Join(append([]string{strconv.Itoa(h.p.id)}, docs...), " ")}
}

// OpenSession implements store.Sessions.
func (h *handle) OpenSession(_ context.Context, ttl time.Duration) (store.Session, error) {
	var s *session
	if err := h.change(func() error { s = h.d.open(h.p, ttl); return nil }); err != nil {
		return nil, err
	}
	return &tie{h, s}, nil
}

// SessionsExpire implements store.Sessions.
func (h *handle) SessionsExpire() bool { return h.d.w.plan.mode == Leases }

// tie is a session on the member's side.
type tie struct {
	h *handle
	s *session
}

// EndKey implements store.EndableSession.
func (t *tie) EndKey(...string) store.EndKey { return store.EndKey{Text: strconv.Itoa(t.s.id)} }

// Put implements store.Session. An acknowledged one renews the session.
func (t *tie) Put(_ context.Context, doc store.Doc) (v store.Version, err error) {
	if t.s.forsaken() {
		return "", store.ErrSession
	}
	err = t.h.change(func() error {
		if t.s.over {
			return store.ErrSession
		}
		err := t.h.d.putTo(&v, doc, t.s, nil)
		if err == nil {
			t.s.heard = t.h.d.w.now
		}
		return err
	})
	return v, err
}

// Done is not asked by replica: the answer of a Put tells.
func (t *tie) Done() <-chan struct{} { return nil }

// Close implements store.Session.
func (t *tie) Close(context.Context) error {
	return t.h.change(func() error { t.s.end(); return nil })
}
