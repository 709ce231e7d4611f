// Package replica is the masterless protocol: every member folds the same log and so holds the same value.
//
// # Purpose
//
// Members agree on who runs what without a coordinator. Decisions are made inside cluster.Value.Apply, by all alike;
// members only watch each other, append what they saw, and run what the value says is theirs.
//
// # State
//
//	reading ──→ claim ──→ heartbeat ──→ join ──→ member ──→ leaving ──→ gone
//	 (to the     (no live   (ours is    (prepare-   │  ↑
//	  head at     process    written)    join is     │  │ rejoins, as another life
//	  the start)  has our                in the log) ↓  │
//	              name)                            removed (stops all that it ran)
//
// Any phase ends in halted when going on would be wrong: the log was rewritten, a newer format, the name is taken.
//
// # Messages
//
// Entries in the log (package cluster), and one heartbeat document per member: pulse/<member>/<start>. Where the store
// has sessions the heartbeat goes with the process; in any case it is renewed every TTL/3, and a member whose heartbeat
// is unchanged for TTL(1+ρ) by the watcher's own clock counts as dead. TTL is always the owner's, which the heartbeat
// states: members may differ in it.
//
// # Guarantees
//
//   - At every index a partition has at most one granted owner, with a token that grows (G1).
//   - A member holds its grants until TTL(1−ρ) − margin after it sent the last renewal that was acknowledged; others
//     wait TTL(1+ρ) from when they saw the last change. So two owners never act together unless one was suspended or a
//     clock's rate is off by more than ρ (G2).
//   - After a crash the partitions have another owner within TTL(1+ρ) + 2 polls + 2 round trips; at once where the
//     store drops the heartbeat of a dead process (G4). Each watcher that died with the one it watched adds at most one
//     sweep (TTL/2) and one rank delay.
//   - A store that hints at changes is asked seldom: for the log every 2/5 TTL besides the hints, for the successor
//     when its next renewal is due. A hint of an entry that gets lost adds 2/5 TTL to the bound. Where it also ends the
//     sessions of silent processes, the sweeps of all members together are as many as else of one: who comes next in
//     the ring finds the heartbeat of a dead one gone at the first look.
//   - What a member appends right behind what it has applied it need not read: it is applied when the store says where
//     it stands (docs/decisions, 29).
//   - Everything is derived from the value and done again until the value agrees: a crash, a lost watch or a jump to a
//     snapshot loses nothing (G9).
//
// # What is not guaranteed
//
// A suspended process that wakes may go on for a moment before it looks at its clock: what must not happen then needs
// the token. The hash chain tells accidents apart, not malice. A store that loses acknowledged entries is noticed, not
// mended.
//
// # Failures
//
// Store away: the member goes on until its lease ends, stops its work, and resumes when the store answers and its
// grants are still there. Unknown outcome of an append: the same entry is appended again under the same number; the
// value drops the duplicate. Removed though alive: it stops what it ran, waits until that has ended, and rejoins.
//
// # Where it comes from
//
// The source document "The Cluster as a Value"; its stored ring is replaced by a computed one (docs/decisions). The
// self-imposed end of the lease follows Gray and Cheriton, "Leases" (1989).
package replica

import (
	"context"
	"errors"
	"fmt"
	"path"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/fold"
	"github.com/rota-run/rota/internal/protocol/heartbeat"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/internal/protocol/shell"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// Protocol is replica as one of the ways to agree.
type Protocol struct{ fold.Observer[opener] }

var _ protocol.Historian = Protocol{}

// opener finds the log in the store.
type opener struct{}

func (opener) Log(s protocol.Store) (store.Log, error) { return fold.Full(s, "replica") }

// Name implements protocol.Protocol.
func (Protocol) Name() string { return "replica" }

// New implements protocol.Protocol.
func (Protocol) New(c protocol.Config) (protocol.Member, error) {
	return shell.New(c, Protocol{}, machine)
}

// Client implements protocol.Protocol.
func (Protocol) Client(s protocol.Store) (protocol.Client, error) {
	log, err := opener{}.Log(s)
	if err != nil {
		return nil, err
	}
	return NewClient(log), nil
}

// NewClient makes a client with a writer ID of its own.
func NewClient(l store.Log) *fold.Client {
	return &fold.Client{Log: l, Encode: func(_ cluster.Value, e cluster.Entry) ([]byte, error) {
		return e.Encode(), nil
	}}
}

func machine(c protocol.Config, p member.Params) shell.Machine[State] {
	return shell.Machine[State]{
		Start: NewState(p), Step: Step, Caller: NewCaller(shell.NewLogCaller(c)),
		Watched: func(s State) ([]string, bool) { return watched(s, c.NoSessions), true },
	}
}

// watched is the folder of the heartbeat that the member watches, of that member alone: the prefix of a watch ends with
// a slash.
func watched(s State, noSessions bool) []string {
	if s.watching == "" || noSessions {
		return nil
	}
	return []string{path.Dir(s.watching) + "/"}
}

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
		docs, err := c.Store.List(ctx, protocol.HeartbeatPrefix)
		heartbeats := make([]member.Heartbeat, len(docs))
		for i, doc := range docs {
			heartbeats[i] = member.Heartbeat{Key: doc.Key, Version: doc.Version, TTL: heartbeat.StatedTTL(doc.Value)}
		}
		return HeartbeatsListed{Now: c.Now(), Heartbeats: heartbeats, Err: shell.Text(err)}
	case DropHeartbeat:
		if err := c.Store.Delete(ctx, e.Key, e.Version); err != nil {
			c.Logger.Debug("drop a stray heartbeat", "key", e.Key, "err", err)
		}
		return nil
	}
	return c.LogCaller.Call(ctx, e)
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
