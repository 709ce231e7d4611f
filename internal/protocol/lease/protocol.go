// Package lease is the protocol of claims: what is to be done is in documents, and members claim them by conditional
// writes.
//
// # Purpose
//
// It needs a store with versioned documents and nothing else. The leader says which partitions there are; members claim
// those that are free, and hold them for as long as their session lives. There is one heartbeat per member and no
// renewal per partition, so that the cost depends on members alone.
//
// # State
//
//	name ──→ beat ──→ join ──→ joined ⇄ leader ──→ leaving ──→ gone
//	 ↑ (no live  (our       (in the        │
//	 │  process   heartbeat  Node List)    │ its session was fenced, or its lease has run out on a slow store
//	 │  has our   is there)                ↓
//	 └─ name) ──────────────────────── removed (stops all that it ran)
//
// # Messages
//
// Documents, each changed by compare-and-set:
//
//	lock/leader      holder (a session), term
//	lock/board       what the leader tells all, as a hint: what is free, what is to be given up
//	nodes            the Node List: session and workers of each member; written when a member joins or leaves, never by a heartbeat
//	node/<session>   the heartbeat of one session; live, or fenced for good. Where the store has sessions it goes with the process
//	config           settings, and the last index that was given to a submission
//	job/<id>         a job
//	partition/<id>   holder, task, state, token
//	view/<n>         the value as the leader has assembled it, for those who only look
//
// Every command has one document that decides it, and is decided by cluster.Value.Do on the value that is assembled
// from the documents that it needs. What follows for other documents is derived by the leader, by cluster.Value.Settle,
// again and again until nothing differs.
//
// # Guarantees
//
//   - A partition is held by the session that is in its document, and only where that session is in the Node List (G1).
//     Each claim has a larger token: index of the submission << 24 | claims. A partition that goes and comes back keeps
//     its document, and so its token, for as long as its job lives.
//   - A session leaves the Node List by its own will, or after it was fenced: its heartbeat was silent for TTL(1+ρ) by
//     the clock of the member that fenced it, and the fence was acknowledged. A heartbeat that meets a fence fails, a
//     fence that meets a heartbeat fails. The owner itself holds a claim until TTL(1−ρ) − margin after it sent the last
//     renewal that was acknowledged (G2).
//   - A partition that is done is not begun again under its token. The document of an item is made in a state that
//     nobody claims, until a later survey has read the window after it: a leader that was suspended may make it again
//     when it is done and gone.
//   - A member acts on its own acknowledged claims alone, never on what it reads. What a read shows counts for a write
//     of unknown outcome, or for a fence, when a write on top of it was acknowledged: the copy of the store that
//     answered may have been cut off.
//   - After a crash the partitions are claimed elsewhere within TTL(1+ρ) + 4 polls + 8 round trips; at once, but for
//     these, where the heartbeat goes with the process (G4). A leader that dies as well adds its rank's delay; one that
//     is suspended, half a TTL in clusters of up to mostWatched members, where a deputy watches all heartbeats. Two
//     leaders at once harm nothing: documents decide.
//   - Started again with nothing but the store, members find jobs, settings and positions there.
//
// # What is not guaranteed
//
// A move of a task with hand-over no-gap or fast waits for the former owner as one of at-most-one does. Shares are even
// when all is at rest; meanwhile what has been free for longer than a TTL may be claimed by anyone. An item of a window
// that was taken out may run once more, under a token that it had, if a leader writes it late, and a copy of the store
// that was cut off then shows the window as it was, and another copy the item. A suspended process may go on for a
// moment after it wakes: what must not happen then needs the token. There is no log, and so no history.
//
// # Failures
//
// A list that lags, by seconds or more: what binds other documents, as what a window has said, is read by its key if it
// is not as it was read before; a job of which the list shows what was is not completed. Where the store hints at
// nothing, what the board gives up or offers is read by its key, and all look four times as often, for a TTL after the
// board has changed: else a list would show a release up to a second late. Store away: the member works until its lease
// expires, and then stops its work. A renewal that the store accepts later proves that nobody has fenced the session or
// claimed what it holds: the member resumes at once. The others get the chance to do the same: a member that could not
// renew its own heartbeat calls nobody silent until four polls after it can. Unknown outcome of a write: the document
// is read, and tells by its name whether the write was stored. A document that is damaged or foreign decides nothing
// and is never written over; one of a newer format ends the member.
//
// # Where it comes from
//
// The source document elasticsearch-cluster-state; docs/decisions says where this differs and why. The self-imposed end
// of a lease follows Gray and Cheriton, "Leases" (1989).
package lease

import (
	"compress/flate"
	"context"
	"fmt"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/internal/protocol/outbox"
	"github.com/rota-run/rota/internal/protocol/shell"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// Protocol is lease as one of the ways to agree.
type Protocol struct{}

// Name implements protocol.Protocol.
func (Protocol) Name() string { return "lease" }

// Fits implements protocol.Protocol: documents are all that it needs.
func (Protocol) Fits(protocol.Store) error { return nil }

// Observe implements protocol.Protocol: it assembles all documents.
func (Protocol) Observe(ctx context.Context, s protocol.Store, _ cluster.Value) (cluster.Value, error) {
	docs, _, err := surveyAll(ctx, s, []string{keyConfig, keyNodes}, func(store.Doc) bool { return true })
	if err != nil {
		return cluster.Value{}, fmt.Errorf("read the documents: %w", err)
	}
	f := learn(docs)
	for _, d := range docs {
		if err := f.problem(d.Key); err != nil {
			return cluster.Value{}, err
		}
	}
	return f.value(), nil
}

// Client implements protocol.Protocol.
func (Protocol) Client(s protocol.Store) (protocol.Client, error) {
	return &client{docs: s, name: "client-" + shell.Nonce()}, nil
}

// client decides commands without being a member.
type client struct {
	docs store.Docs
	name string
	n    uint64
}

// clientPause is between two attempts of a client.
const clientPause = 100 * time.Millisecond

// Propose implements protocol.Client.
func (c *client) Propose(ctx context.Context, commands ...cluster.Command) ([]cluster.Result, error) {
	out := make([]cluster.Result, len(commands))
	for i, cmd := range commands {
		if err := cluster.CheckCommand(cmd); err != nil {
			return nil, fmt.Errorf("propose: %w", err)
		}
		var err error
		if out[i], err = c.propose(ctx, cmd); err != nil {
			return nil, fmt.Errorf("propose: %w", err)
		}
	}
	return out, nil
}

func (c *client) propose(ctx context.Context, cmd cluster.Command) (cluster.Result, error) {
	for a := (attempt{command: cmd}); ; {
		a = a.begin()
		docs, err := store.GetAll(ctx, c.docs, a.ask)
		if err != nil {
			return cluster.Result{}, err
		}
		c.n++
		a = a.read(docs)
		a = a.decide(learn(a.docs), writer{write: fmt.Sprintf("%s-%d", c.name, c.n), atMS: time.Now().UnixMilli()})
		if a.ask != nil {
			continue
		}
		if !a.over {
			var v store.Version
			if v, err = c.docs.Put(ctx, a.put); outcome(err) == outbox.NotDone {
				return cluster.Result{}, err
			}
			a = a.wrote(outcome(err), v)
		}
		switch {
		case a.over:
			return a.result, a.err
		case err == nil:
			continue
		}
		select {
		case <-ctx.Done():
			return cluster.Result{}, fmt.Errorf("outcome unknown: %w", context.Cause(ctx))
		case <-time.After(clientPause):
		}
	}
}

// New implements protocol.Protocol.
func (Protocol) New(c protocol.Config) (protocol.Member, error) {
	return shell.New(c, Protocol{}, machine)
}

func machine(c protocol.Config, p member.Params) shell.Machine[State] {
	calls := &Caller{BeatCaller: shell.NewBeatCaller(c), Level: flate.BestSpeed}
	calls.Fenced = true
	return shell.Machine[State]{
		Start: NewState(p), Step: Step, Caller: calls, Watched: State.Watching,
	}
}

// Value is the newest value that the member has: as the leader it has assembled it, else it is the leader's newest
// view.
func (s State) Value() cluster.Value { return s.value }

// Status is what the member knows of its membership.
func (s State) Status() protocol.Status {
	return protocol.Status{Joined: s.In(), StoreError: s.Contact.Problem, TTLMS: s.Timing.Lengthened(s.StatedTTL()),
		Pending: len(s.queue)}
}

// Assembler assembles values, one after the other.
type Assembler struct{ known facts }

// Assemble is the value that documents make. It decodes and assembles what has changed since the last one.
func (a *Assembler) Assemble(docs []store.Doc) cluster.Value {
	f := a.known.learn(docs)
	f.assemble(&a.known)
	a.known = *f
	return f.value()
}
