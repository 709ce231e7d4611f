package call

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// heading writes the head of a page, so that it has another version than before. Only its client writes it, so another
// version that says the same is the outcome of a try. It is a value; step makes the next one.
type heading struct {
	body  string
	at    store.Version // which it replaces
	blind bool          // the version is not known: an earlier write failed
	sent  bool
	tries int
}

// The effects of a heading, beside pause.
type (
	putHead struct {
		version store.Version
		body    string
	}
	getHead struct{}
	headed  struct {
		version store.Version
		err     error
	}
)

func (putHead) effect() {}
func (getHead) effect() {}
func (headed) effect()  {}

// gotHead answers getHead.
type gotHead struct {
	version store.Version
	body    string
	err     error
}

func (gotHead) answer() {}

// begin is the first step.
func (h heading) begin() (heading, effect) {
	if h.blind {
		return h, getHead{}
	}
	return h.put()
}

func (h heading) put() (heading, effect) {
	h.sent = true
	return h, putHead{h.at, h.body}
}

func (h heading) step(ans answer) (heading, effect) {
	switch ans := ans.(type) {
	case putEnded:
		switch {
		case ans.err == nil:
			return h, headed{version: ans.version}
		case errors.Is(ans.err, store.ErrUnknown), errors.Is(ans.err, store.ErrConflict):
			return h, getHead{}
		}
		return h, headed{err: ans.err}
	case gotHead:
		return h.found(ans)
	case paused:
		if ans.err != nil {
			return h, headed{err: ans.err}
		}
	}
	return h.put()
}

func (h heading) found(g gotHead) (heading, effect) {
	switch {
	case errors.Is(g.err, store.ErrNotFound):
		h.at = ""
	case g.err != nil:
		return h, headed{err: errors.Join(store.ErrUnknown, g.err)}
	case h.sent && g.body == h.body && g.version != h.at:
		return h, headed{version: g.version}
	default:
		h.at = g.version
	}
	if !h.sent {
		return h.put()
	}
	h.tries++
	return h, pause{try: h.tries}
}

// pageUse is what a client has on one of its pages.
type pageUse struct {
	used int  // numbers given
	size int  // bytes of their documents
	live int  // calls that are not known to be removed
	shut bool // no further number is given
	// doubt: there may be calls that nobody counts.
	doubt bool
}

func (u pageUse) full(size int) bool {
	return u.used == pageSize || u.used > 0 && u.size+size > pageBytes
}

func (u pageUse) take(size int) pageUse {
	u.used, u.live, u.size = u.used+1, u.live+1, u.size+size
	return u
}

// giveUp is for a call whose submission failed. One that may be there all the same needs its page, which is then left
// to members.
func (u pageUse) giveUp(err error) pageUse {
	u.live--
	u.doubt = u.doubt || errors.Is(err, store.ErrUnknown)
	return u
}

// last reports whether nothing is left of the page but its head, for sure.
func (u pageUse) last() bool { return u.shut && u.live == 0 && !u.doubt }

// removable reports whether the client may remove the head of a page that is done with, unless something may come late:
// then members do it, when they have seen that nothing does.
func removable(h head, v store.Version) bool { return len(h.Void) == 0 && v != "" }

// submission creates the document of a call and finds out what became of it. It is a value; step makes the next one,
// and create is its first effect.
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

// step finds out what became of a submission. One of unknown outcome that is not there may still come, even after a
// second try was run, collected and removed; so its number is made void, and then it is looked at once more.
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

var errLongAgo = fmt.Errorf("it was submitted long ago, and what became of it is not kept any more: %w",
	store.ErrUnknown)

func unknown(err error) error {
	if err == nil {
		return nil
	}
	return errors.Join(store.ErrUnknown, err)
}

// sight is a page as it was first seen.
type sight struct {
	sum   uint64
	since protocol.Instant
}

// fate is what a sweeper does to a page.
type fate uint8

const (
	stay      fate = iota // it is remembered as it was seen first
	changed               // it is remembered as it is now
	abandoned             // the head goes
	expired               // outcomes that nobody collects go, and calls whose submission was given up
)

// fateOf decides by how long a page has been what it is. known: it was seen before.
func fateOf(before sight, known bool, now sight, calls int, retention time.Duration) fate {
	age := now.since.Sub(before.since)
	switch {
	case !known || before.sum != now.sum:
		return changed
	case calls == 0 && age >= pageRest:
		return abandoned
	case age >= retention:
		return expired
	}
	return stay
}

// expires reports whether a call of a page that has expired goes.
func expires(r Record, number int, void []int) bool {
	return r.State.Final() || r.State == Queued && r.Token == 0 && slices.Contains(void, number)
}

// conclusion returns the outcome for those who wait, whether the call has ended, and whether its document can be
// removed.
func (r Record) conclusion() (out Outcome, ended, collect bool) {
	out, ended = r.Ended()
	return out, ended, ended && r.State.Final()
}
