package replica

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rota-run/rota/internal/protocol/heartbeat"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/internal/protocol/shell"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// Caller makes the store calls of one member and turns their answers into events. It decides nothing. The shell has
// one, and so has a simulated member, with a simulated store and clock. Call may be called from any goroutine.
type Caller struct {
	*shell.LogCaller
	company company
}

// NewCaller makes the caller of one run of a member.
func NewCaller(l *shell.LogCaller) *Caller { return &Caller{l, make(company)} }

// Call makes one store call and returns the event that answers it; nil for effects that are not answered.
func (c *Caller) Call(ctx context.Context, e member.Effect) member.Event {
	switch e := e.(type) {
	case member.ReadLog:
		return c.Paged(c.readLog(ctx, e))
	case CheckHeartbeat:
		if store.CheckKey(e.Key) != nil { // no store has such a document, and no member has written it
			return HeartbeatSeen{Now: c.Now(), Key: e.Key}
		}
		d, err := c.look(ctx, e)
		return HeartbeatSeen{Now: c.Now(), Key: e.Key, Version: d.Version, TTL: heartbeat.StatedTTL(d.Value),
			Err: shell.Text(err)}
	case ListHeartbeats:
		return c.listHeartbeats(ctx)
	case DropHeartbeat:
		if err := c.Store.Delete(ctx, e.Key, e.Version); err != nil {
			c.Logger.Debug("drop a stray heartbeat", "key", e.Key, "err", err)
		}
		return nil
	}
	return c.LogCaller.Call(ctx, e)
}

func (c *Caller) listHeartbeats(ctx context.Context) member.Event {
	docs, err := c.Store.List(ctx, protocol.HeartbeatPrefix)
	heartbeats := make([]member.Heartbeat, len(docs))
	for i, doc := range docs {
		heartbeats[i] = member.Heartbeat{Key: doc.Key, Version: doc.Version, TTL: heartbeat.StatedTTL(doc.Value)}
	}
	return HeartbeatsListed{Now: c.Now(), Heartbeats: heartbeats, Err: shell.Text(err)}
}

type (
	// HeartbeatSeen answers CheckHeartbeat; Version is "" when there is none.
	HeartbeatSeen struct {
		member.Now
		Key     string
		Version store.Version
		TTL     time.Duration // for which its owner says that others wait; 0: it does not say
		Err     string
	}
	// HeartbeatsListed answers ListHeartbeats. A key that is missing proves nothing.
	HeartbeatsListed struct {
		member.Now
		Heartbeats []member.Heartbeat // sorted by key
		Err        string
	}
)

type (
	// CheckHeartbeat reads one heartbeat. A Routine one decides nothing yet: it may wait for the next read of the log,
	// to be made with it in one request.
	CheckHeartbeat struct {
		member.Call
		Key     string
		Routine bool
	}
	// ListHeartbeats lists all heartbeats.
	ListHeartbeats struct{ member.Call }
	// DropHeartbeat removes a heartbeat document that nobody renews any more, if it is still at Version.
	DropHeartbeat struct {
		member.Call
		Key     string
		Version store.Version
	}
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
