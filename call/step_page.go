package call

import (
	"errors"

	"github.com/rota-run/rota/store"
)

// heading writes the head of a page, so that it has another version than before. Only its client writes it, so another version that says the same is
// the outcome of a try. It is a value; step makes the next one.
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

// tally is what a client has on one of its pages.
type tally struct {
	used int  // numbers given
	size int  // bytes of their documents
	live int  // calls that are not known to be removed
	shut bool // no further number is given
	// doubt: there may be calls that nobody counts.
	doubt bool
}

func (t tally) full(size int) bool {
	return t.used == pageSize || t.used > 0 && t.size+size > pageBytes
}

func (t tally) take(size int) tally {
	t.used, t.live, t.size = t.used+1, t.live+1, t.size+size
	return t
}

// giveUp is for a call whose submission failed. One that may be there all the same needs its page, which is then left to members.
func (t tally) giveUp(err error) tally {
	t.live--
	t.doubt = t.doubt || errors.Is(err, store.ErrUnknown)
	return t
}

// last reports whether nothing is left of the page but its head, for sure.
func (t tally) last() bool { return t.shut && t.live == 0 && !t.doubt }

// removable reports whether the client may remove the head of a page that is done with, unless something may come late: then members do it, when they have
// seen that nothing does.
func removable(h head, v store.Version) bool { return len(h.Void) == 0 && v != "" }
