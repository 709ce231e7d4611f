package call

import (
	"errors"

	"github.com/rota-run/rota/store"
)

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
	next, ok := Step(g.call.Record, c.id, RequestCancel{})
	if !ok {
		return c, wished{}
	}
	c.writes, c.writing = true, writing{old: g.call, next: next, aim: aim{kind: toCancel}}
	return c, c.writing.put()
}
