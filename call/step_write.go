package call

import (
	"errors"

	"github.com/rota-run/rota/store"
)

// What the machines of this package do, one effect at a time; each is answered before the next.
type (
	effect interface{ effect() }
	// putCall writes the document of the call at a version.
	putCall struct {
		version store.Version
		record  Record
	}
	// getCall reads it.
	getCall struct{}
	// pause is longer the more tries there were. err says why it is needed, where that is worth telling.
	pause struct {
		try int
		err error
	}
	// wrote is the end of a write. The error is store.ErrConflict where somebody else wrote, and matches
	// store.ErrUnknown where the store went away before it could tell.
	wrote struct {
		call stored
		err  error
	}
)

func (putCall) effect() {}
func (getCall) effect() {}
func (pause) effect()   {}
func (wrote) effect()   {}

// What they hear.
type (
	answer   interface{ answer() }
	putEnded struct {
		version store.Version
		err     error
	}
	// got is the document; err matches store.ErrNotFound where there is none.
	got struct {
		call stored
		err  error
	}
	// paused: err says that there is no time for more.
	paused struct{ err error }
)

func (putEnded) answer() {}
func (got) answer()      {}
func (paused) answer()   {}

// aim is what a write is for, and so by what one knows that it was done.
type aim struct {
	kind  aimKind
	nonce string // of the run that writes
}

type aimKind uint8

const (
	toClaim aimKind = iota
	toEnd
	toCancel
)

// reached reports whether a record says what was to be written.
func (a aim) reached(next, now Record) bool {
	mine := now.runner().Nonce == a.nonce
	switch a.kind {
	case toClaim:
		return mine || next.State != Running && now.State == next.State
	case toEnd:
		return mine && now.State != Running
	default:
		return now.Cancel || now.State == Cancelled
	}
}

// writing replaces a document by what it is to be next, if it is still at its version, and finds out whether that was
// done: an unknown outcome is resolved by reading. It is a value; step makes the next one.
type writing struct {
	old   stored
	next  Record
	aim   aim
	doubt bool // the outcome of a try is unknown: it may still come
	tries int
}

func (w writing) put() effect { return putCall{w.old.version, w.next} }

// step handles an answer and returns what to do next: putCall, getCall, pause, or wrote at the end.
func (w writing) step(a answer) (writing, effect) {
	switch a := a.(type) {
	case putEnded:
		return w.ended(a)
	case got:
		return w.found(a)
	case paused:
		if a.err != nil {
			return w, wrote{err: errors.Join(store.ErrUnknown, a.err)}
		}
	}
	return w, w.put()
}

func (w writing) ended(a putEnded) (writing, effect) {
	switch {
	case a.err == nil:
		return w, wrote{call: stored{w.old.key, a.version, w.next}}
	case errors.Is(a.err, store.ErrUnknown), errors.Is(a.err, store.ErrConflict) && w.doubt:
		w.doubt = true
		return w, getCall{}
	case w.doubt:
		return w, wrote{err: errors.Join(store.ErrUnknown, a.err)}
	}
	return w, wrote{err: a.err}
}

func (w writing) found(a got) (writing, effect) {
	switch {
	case errors.Is(a.err, store.ErrNotFound):
		return w, wrote{err: store.ErrConflict}
	case a.err != nil:
		return w, wrote{err: errors.Join(store.ErrUnknown, a.err)}
	case w.aim.reached(w.next, a.call.Record):
		return w, wrote{call: a.call}
	case a.call.version != w.old.version:
		return w, wrote{err: store.ErrConflict}
	}
	// It may still come; written again under the same version, one of the two is done.
	w.tries++
	return w, pause{try: w.tries}
}

// cancelling persists a wish to cancel. It is a value; step makes the next one, and getCall is its first effect.
type cancelling struct {
	id      string
	writes  bool
	writing writing
}

// wished is the end: nil when the wish is persisted, or not needed any more.
type wished struct{ err error }

func (wished) effect() {}

func (c cancelling) step(ans answer) (cancelling, effect) {
	if !c.writes {
		return c.found(ans)
	}
	w, fx := c.writing.step(ans)
	c.writing = w
	end, ok := fx.(wrote)
	switch {
	case !ok:
		return c, fx
	case errors.Is(end.err, store.ErrConflict):
		c.writes = false
		return c, getCall{}
	}
	return c, wished{end.err}
}

func (c cancelling) found(ans answer) (cancelling, effect) {
	g, _ := ans.(got)
	switch {
	case errors.Is(g.err, store.ErrNotFound):
		return c, wished{}
	case g.err != nil:
		return c, wished{g.err}
	}
	next, ok := step(g.call.Record, c.id, requestCancel{})
	if !ok {
		return c, wished{}
	}
	c.writes, c.writing = true, writing{old: g.call, next: next, aim: aim{kind: toCancel}}
	return c, c.writing.put()
}
