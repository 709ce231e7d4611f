package call

import (
	"errors"

	"github.com/rota-run/rota/store"
)

// submission creates the document of a call and finds out what became of it. It is a value; step makes the next one, and create is its first effect.
type submission struct{ at submitPhase }

type submitPhase uint8

const (
	creating submitPhase = iota
	lookingOnce
	voiding
	lookingAgain
	removing
	tending
)

// The effects of a submission, beside getCall.
type (
	create struct{}
	// voidNumber makes the number of the call void in the head of its page.
	voidNumber struct{}
	removeCall struct{ version store.Version }
	// tend writes the head of the page again if the page is old.
	tend struct{}
	// submitted is the end. again: the document provably never runs, and another number is needed.
	submitted struct {
		again bool
		err   error
	}
)

func (create) effect()     {}
func (voidNumber) effect() {}
func (removeCall) effect() {}
func (tend) effect()       {}
func (submitted) effect()  {}

// The answers to these, beside putEnded and got.
type (
	// headEnded answers voidNumber and tend.
	headEnded    struct{ err error }
	removalEnded struct {
		removed bool
		err     error
	}
)

func (headEnded) answer()    {}
func (removalEnded) answer() {}

// step finds out what became of a submission. One of unknown outcome that is not there may still come, even after a second try was run, collected and
// removed; so its number is made void, and then it is looked at once more.
func (s submission) step(ans answer) (submission, effect) {
	switch ans := ans.(type) {
	case putEnded:
		switch {
		case ans.err == nil:
			return s.do(tending, tend{})
		case errors.Is(ans.err, store.ErrUnknown), errors.Is(ans.err, store.ErrConflict): // a conflict: a driver's own second try met its first
			return s.do(lookingOnce, getCall{})
		}
		return s, submitted{err: ans.err}
	case got:
		return s.found(ans)
	case headEnded:
		switch {
		case ans.err != nil:
			return s, submitted{err: unknown(ans.err)}
		case s.at == voiding:
			return s.do(lookingAgain, getCall{})
		}
	case removalEnded:
		switch {
		case ans.err != nil:
			return s, submitted{err: unknown(ans.err)}
		case !ans.removed: // claimed before it was void
			return s.do(tending, tend{})
		}
		return s, submitted{again: true}
	}
	return s, submitted{}
}

func (s submission) found(g got) (submission, effect) {
	switch {
	case errors.Is(g.err, store.ErrNotFound):
		if s.at == lookingOnce {
			return s.do(voiding, voidNumber{})
		}
		return s, submitted{again: true}
	case g.err != nil:
		return s, submitted{err: unknown(g.err)}
	case s.at == lookingOnce, g.call.Token > 0: // claimed before it was void
		return s.do(tending, tend{})
	}
	return s.do(removing, removeCall{g.call.version})
}

func (s submission) do(p submitPhase, fx effect) (submission, effect) {
	s.at = p
	return s, fx
}

func unknown(err error) error {
	if err == nil {
		return nil
	}
	return errors.Join(store.ErrUnknown, err)
}
