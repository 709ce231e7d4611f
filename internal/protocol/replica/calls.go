package replica

import (
	"context"
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
