package call

import (
	"errors"
	"fmt"

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
	lookingLast
	tending
)

// The effects of a submission, beside getCall.
type (
	create struct{}
	// voidNumber makes the number of the call void in the head of its page.
	voidNumber struct{}
	removeCall struct{ version store.Version }
	// askAge asks whether the page is old.
	askAge struct{}
	// tend writes the head of an old page again.
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
func (askAge) effect()     {}
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
	aged struct{ old bool }
)

func (headEnded) answer()    {}
func (removalEnded) answer() {}
func (aged) answer()         {}

// step finds out what became of a submission. One of unknown outcome that is not there may still come, even after a second try was run, collected and
// removed; so its number is made void, and then it is looked at once more.
func (s submission) step(ans answer) (submission, effect) {
	switch ans := ans.(type) {
	case putEnded:
		switch {
		case ans.err == nil:
			return s.do(tending, askAge{})
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
		case !ans.removed: // claimed before it was void, as a rule
			return s.do(lookingLast, getCall{})
		}
		return s, submitted{again: true}
	case aged:
		return s.aged(ans.old)
	}
	return s, submitted{}
}

func (s submission) aged(old bool) (submission, effect) {
	switch {
	case s.at == tending && old:
		return s, tend{}
	case s.at == tending:
		return s, submitted{}
	case old: // it may have been run while this process was suspended, and its outcome kept long enough
		return s, submitted{err: errLongAgo}
	}
	return s, submitted{again: true}
}

func (s submission) found(g got) (submission, effect) {
	switch {
	case errors.Is(g.err, store.ErrNotFound):
		switch s.at {
		case lookingOnce:
			return s.do(voiding, voidNumber{})
		case lookingLast:
			return s, submitted{err: errLongAgo}
		default:
			return s, askAge{}
		}
	case g.err != nil:
		return s, submitted{err: unknown(g.err)}
	case s.at == lookingOnce, g.call.Token > 0: // claimed before it was void
		return s.do(tending, askAge{})
	}
	return s.do(removing, removeCall{g.call.version})
}

func (s submission) do(p submitPhase, fx effect) (submission, effect) {
	s.at = p
	return s, fx
}

var errLongAgo = fmt.Errorf("it was submitted long ago, and what became of it is not kept any more: %w", store.ErrUnknown)

func unknown(err error) error {
	if err == nil {
		return nil
	}
	return errors.Join(store.ErrUnknown, err)
}
