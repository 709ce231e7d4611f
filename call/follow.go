package call

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rota-run/rota/internal/wait"
	"github.com/rota-run/rota/store"
)

// How often a client checks for finished calls: after a hint, at most as often as the first; without a hint, as often
// as the last.
const (
	lookSoonest = 4 * time.Millisecond
	lookLazily  = 32 * time.Millisecond
	lookWithout = 500 * time.Millisecond
)

// regard has the client look after a call, or not any more, as somebody waits for it or not.
func (c *Client) regard(h *Handle) {
	c.mu.Lock()
	wanted, closed := h.wanted(), c.closed
	page := h.at
	page.number = 0
	switch {
	case closed:
	case !wanted:
		c.forget(page, h)
	default:
		if c.waiting[page] == nil {
			c.waiting[page] = make(map[*Handle]bool)
		}
		c.waiting[page][h] = true
		if !c.follows {
			c.follows = true
			c.wg.Go(func() { c.follow(c.ctx) })
		}
	}
	c.mu.Unlock()
	if closed && wanted {
		h.settle(nil, ErrClosed)
	}
	c.added.Set()
}

// forget is called with c.mu held.
func (c *Client) forget(page place, h *Handle) {
	delete(c.waiting[page], h)
	if len(c.waiting[page]) == 0 {
		delete(c.waiting, page)
	}
}

// follow looks for the ends of calls as long as somebody waits for one.
func (c *Client) follow(ctx context.Context) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	hints := wait.Watch(ctx, c.docs, prefix)
	pause := lookSoonest
	confirmed := time.Now()
	for {
		confirm := time.Since(confirmed) >= lookWithout
		if confirm {
			confirmed = time.Now()
		}
		found, more := c.look(ctx, confirm)
		if !more {
			return
		}
		pause = min(2*pause, lookLazily)
		if found {
			pause = lookSoonest
		}
		wait.For(ctx, pause)
		hints.Or(ctx, lookWithout, c.added, nil)
	}
}

// look lists the pages of calls that somebody waits for. more is false, and follow has ended, when there are none.
func (c *Client) look(ctx context.Context, confirm bool) (found, more bool) {
	c.mu.Lock()
	if len(c.waiting) == 0 || ctx.Err() != nil {
		c.follows = false
		c.mu.Unlock()
		return false, false
	}
	pages := slices.SortedFunc(maps.Keys(c.waiting),
		func(a, b place) int { return strings.Compare(a.head(), b.head()) })
	c.mu.Unlock()
	for _, p := range pages {
		if c.lookAt(ctx, p, confirm) {
			found = true
		}
	}
	return found, true
}

// lookAt lists one page, and tells of the calls that have ended. One that is not in the list may be gone, or the list
// may lag: that is confirmed now and then.
func (c *Client) lookAt(ctx context.Context, p place, confirm bool) (found bool) {
	c.mu.Lock()
	handles := slices.SortedFunc(maps.Keys(c.waiting[p]), func(a, b *Handle) int { return a.at.number - b.at.number })
	c.mu.Unlock()
	docs, err := c.docs.List(ctx, p.dir())
	if err != nil {
		c.log.Debug("look for the ends of calls", "page", p.head(), "err", err)
		return false
	}
	for _, h := range handles {
		i, there := slices.BinarySearchFunc(docs, h.at.key(),
			func(d store.Doc, key string) int { return strings.Compare(d.Key, key) })
		switch {
		case there:
			found = c.conclude(p, h, docs[i]) || found
		case confirm:
			d, err := c.docs.Get(ctx, h.at.key())
			if errors.Is(err, store.ErrNotFound) {
				found = true
				h.settle(nil, ErrGone)
				c.ended(p, h)
			} else if err == nil {
				found = c.conclude(p, h, d) || found
			}
		}
	}
	return found
}

// conclude ends a handle whose call has ended.
func (c *Client) conclude(p place, h *Handle, d store.Doc) bool {
	r, err := decode(d.Value)
	if err != nil {
		c.log.Warn("look for the end of a call", "call", h.ID(), "err", err)
		return false
	}
	out, ended, collect := r.conclusion()
	if !ended {
		return false
	}
	now := stored{d.Key, d.Version, r}
	if h.conclude(now, out) && collect { // the client may be closed by now: Close still waits for this goroutine, and for that
		c.wg.Go(func() { h.collect(c.ctx, now) })
	}
	c.ended(p, h)
	return true
}

func (c *Client) ended(p place, h *Handle) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forget(p, h)
}
