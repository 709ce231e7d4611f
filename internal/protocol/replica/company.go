package replica

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/internal/protocol/shell"
	"github.com/rota-run/rota/store"
)

// company is where a routine look at a heartbeat waits for the next read of the log, so that a store that gives no
// hints, and is polled, is sent one request for both. It has no room: a look is handed over when a read takes it.
type company chan lookout

// lookout is a look that waits. Its answer has room for one: a look that has given up holds up nobody.
type lookout struct {
	key    string
	answer chan seen
}

type seen struct {
	doc store.Doc
	err error
}

// together is what reads log and documents in one request, where looks are made by the clock alone; nil elsewhere.
func (c *Caller) together() store.LogWith {
	if _, hints := c.Store.(store.LogWatcher); hints {
		return nil
	}
	with, _ := c.Store.(store.LogWith) // few stores have it
	return with
}

// look reads a heartbeat, which has no version where there is none.
func (c *Caller) look(ctx context.Context, e CheckHeartbeat) (store.Doc, error) {
	if e.Routine && c.together() != nil {
		if s, met := c.company.meet(ctx, e.Key, c.TTL/10); met {
			return s.doc, s.err
		}
	}
	d, err := c.Store.Get(ctx, e.Key)
	if errors.Is(err, store.ErrNotFound) {
		return store.Doc{Key: e.Key}, nil
	}
	return d, err
}

// readLog reads the log, and what waits for that.
func (c *Caller) readLog(ctx context.Context, e member.ReadLog) (store.Page, error) {
	with, after := c.together(), uint64(e.After)
	if with == nil {
		return c.Log.Read(ctx, after, shell.ReadLimit)
	}
	var within time.Duration
	if e.With { // a look was asked for at the same time, and is only a moment behind
		within = c.TTL / 100
	}
	l, met := c.company.take(ctx, within)
	if !met {
		return c.Log.Read(ctx, after, shell.ReadLimit)
	}
	page, docs, err := with.ReadWith(ctx, after, shell.ReadLimit, []string{l.key})
	if len(docs) == 1 {
		l.answer <- seen{doc: docs[0]}
	} else {
		l.answer <- seen{err: fmt.Errorf("get %q with the log: %w", l.key, err)}
	}
	return page, err
}

// take is a look that waits, or comes within a time; false if there is none.
func (c company) take(ctx context.Context, within time.Duration) (lookout, bool) {
	select {
	case l := <-c:
		return l, true
	default:
	}
	select {
	case l := <-c:
		return l, true
	case <-time.After(within):
	case <-ctx.Done():
	}
	return lookout{}, false
}

// meet waits for a read that takes the look along; false if none came in time.
func (c company) meet(ctx context.Context, key string, within time.Duration) (seen, bool) {
	l := lookout{key, make(chan seen, 1)}
	select {
	case c <- l:
	case <-time.After(within):
		return seen{}, false
	case <-ctx.Done():
		return seen{err: context.Cause(ctx)}, true
	}
	select {
	case s := <-l.answer:
		return s, true
	case <-ctx.Done():
		return seen{err: context.Cause(ctx)}, true
	}
}
