package replica

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/store"
)

// company lets a routine look at a heartbeat wait for the next read of the log, so that a store that gives no hints, and is polled, is sent one request for
// both. At most one look waits, since Step has at most one under way.
type company struct {
	mu      sync.Mutex
	waiting *lookout      // nil: none
	came    chan struct{} // of a read that waits for a look; nil: none
}

// lookout is a look that waits.
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
		return c.Log.Read(ctx, after, readLimit)
	}
	if e.With {
		c.company.await(ctx, c.TTL/100)
	}
	l := c.company.take()
	if l == nil {
		return c.Log.Read(ctx, after, readLimit)
	}
	page, docs, err := with.ReadWith(ctx, after, readLimit, []string{l.key})
	if len(docs) == 1 {
		l.answer <- seen{doc: docs[0]}
	} else {
		l.answer <- seen{err: fmt.Errorf("get %q with the log: %w", l.key, err)}
	}
	return page, err
}

// await waits until a look waits: it was asked for at the same time, and is only a moment behind.
func (c *company) await(ctx context.Context, within time.Duration) {
	came := make(chan struct{})
	c.mu.Lock()
	if c.waiting != nil {
		c.mu.Unlock()
		return
	}
	c.came = came
	c.mu.Unlock()
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case <-came:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// take is the look that waits, for a read that answers it.
func (c *company) take() *lookout {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.waiting
	c.waiting, c.came = nil, nil
	return l
}

// meet waits for a read that takes the look along; false if none came in time.
func (c *company) meet(ctx context.Context, key string, within time.Duration) (seen, bool) {
	l := &lookout{key, make(chan seen, 1)}
	c.mu.Lock()
	if c.waiting = l; c.came != nil {
		close(c.came)
		c.came = nil
	}
	c.mu.Unlock()
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case s := <-l.answer:
		return s, true
	case <-ctx.Done():
	case <-timer.C:
		if c.leave(l) {
			return seen{}, false
		}
		select { // a read has taken it
		case s := <-l.answer:
			return s, true
		case <-ctx.Done():
		}
	}
	c.leave(l)
	return seen{err: context.Cause(ctx)}, true
}

// leave takes a look back; false if a read has taken it.
func (c *company) leave(l *lookout) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	left := c.waiting == l
	if left {
		c.waiting = nil
	}
	return left
}
