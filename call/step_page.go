package call

import (
	"errors"

	"github.com/rota-run/rota/store"
)

// heading writes the head of a page at a version. Only its client writes it, so what stands there is the outcome. It is a value; step makes the next one.
type heading struct {
	body  string
	at    store.Version
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

func (h heading) put() effect { return putHead{h.at, h.body} }

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
	return h, h.put()
}

func (h heading) found(g gotHead) (heading, effect) {
	switch {
	case errors.Is(g.err, store.ErrNotFound):
		h.at = ""
	case g.err != nil:
		return h, headed{err: errors.Join(store.ErrUnknown, g.err)}
	case g.body == h.body:
		return h, headed{version: g.version}
	default:
		h.at = g.version
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
}

func (t tally) full(size int) bool {
	return t.used == pageSize || t.used > 0 && t.size+size > pageBytes
}

func (t tally) take(size int) tally {
	t.used, t.live, t.size = t.used+1, t.live+1, t.size+size
	return t
}

// giveUp is for a call whose submission failed.
func (t tally) giveUp(error) tally {
	t.live--
	return t
}

// last tells whether nothing is left of the page but its head.
func (t tally) last() bool { return t.shut && t.live == 0 }

// removable tells whether the client may remove the head of a page that is done with, unless something may come late: then members do it, when they have
// seen that nothing does.
func (t tally) removable(h head, v store.Version) bool { return len(h.Void) == 0 && v != "" }
