// Package leader is the protocol with one writer: an elected leader offers tasks, members acknowledge them.
//
// # Purpose
//
// The leader alone appends to the log. Members read what is assigned to them, and not the log: their memory and traffic
// do not grow with the cluster. The value and its Apply are those of every protocol; here a grant is an offer first
// (cluster.Partition.Offered), and its owner runs it when the leader has entered that it accepts.
//
// # State
//
//	claim ──→ heartbeat ──→ join ──→ joined ──→ leaving ──→ gone
//	(no live   (ours is  (the      │  ↑ │
//	 process    written)  mailbox  │  │ └─→ confirm (its lease has expired: another heartbeat, and the leader must confirm it)
//	 has our              asks)    ↓  │ joins again, as another life
//	 name)                       removed
//
//	as a leader: none ──→ claimed ──→ adopting ──→ ruling
//	             (the document   (its lead is    (it has read mailboxes, assignments,
//	              names us)       in the log)     heads and requests)
//
// The states of one task on one member are those of the source document; docs/internals/slot-states.md has all
// transitions.
//
// # Messages
//
// Documents, as JSON; all but the mailboxes and requests are written by the leader:
//
//	leader/holder            who leads, under which heartbeat; goes with its session
//	members/<member>         what a member wants, and what became of its tasks; goes with its session
//	pulse/<member>/<start>   its heartbeat
//	assign/<member>/<task>   the task itself, written once under a token
//	peer-state/<member>/state  the head: how the leader sees the member, and of each of its tasks the token and the state
//	roster/members           all members, as of an index
//	plan/<who>/<number>      a request, and its answer in the same place
//
// The log holds decisions. An entry cluster.Lead begins a term; from then on Apply refuses the entries of every other
// writer. So a leader that was replaced can do no harm, whatever it still writes: what it projects is true as of some
// index, and it cannot enter anything.
//
// # What a member has of the value
//
// The leader and two stand-bys fold the log, and so does a member whose tasks look at the whole value (sources,
// partitioners). Their View.Value is whole. That of any other member is an excerpt: all members, complete as of the
// index of the roster, so that who was admitted at or before it and is not in it has been removed; and of jobs and
// partitions its own. By that excerpt each member derives its work, as those of other protocols do by the value.
// Status.Light says which it is; for the whole value observe the log (package fold).
//
// # Guarantees
//
//   - At every index a partition has at most one owner; it runs only when it is not offered any more (G1).
//   - A member holds its grants until TTL(1−ρ) − margin after it sent the last renewal that was acknowledged, and the
//     leader removes it when its heartbeat is gone or was silent for TTL(1+ρ). A member that is only suspended keeps
//     its work (G2).
//   - A member starts a task from a read of its head, never from a list, and believes no head of an older value. A head
//     that is created has offers only, and a task becomes active only over the version that was read: a late write of a
//     former leader starts nothing.
//   - After a crash the partitions have another owner within TTL(1+ρ) + 2 polls + some round trips (G4). Where the
//     leader died at the same time it is TTL/3 more: the stand-bys watch the leader, and the members too when it is
//     late. The first of them leads when that has been silent for TTL(1+ρ)/2.
//   - Where the stand-bys die with the leader, a member that waits for a leader (to join, to be confirmed, to leave,
//     for an answer) finds that out within two silences; one that waits for nothing looks more seldom, the more members
//     there are.
//   - A request counts once: its number is in the log, in the entry that takes it.
//   - Adopting: a new leader reads what is there before it decides anything. The deadline of an offer is in the value,
//     and begins again by the new leader's clock.
//
// # What is not guaranteed
//
// That one process at a time believes that it leads. A suspended process that wakes may act for a moment before it
// looks at its clock: what must not happen then needs the token. A request that was taken before a snapshot to which
// the leader has jumped is answered without its results.
//
// # Failures
//
// A member whose lease has lapsed before it is told to leave ends without a word, and others find it silent. Store
// away: a member goes on until its lease ends. Leader dead: nothing moves until a stand-by rules; what runs goes on. A
// document that is garbage, foreign or of a newer format is refused, told of once (Events.Refused), and stops nobody;
// the leader writes over those that it owns when they change next.
//
// # Where it comes from
//
// The source documents "coalesce" (leader, members, assign) and "coordinator-internals" (offers, acknowledgements, peer
// states, plans), with their flaws repaired: one log of decisions instead of eleven of events, terms, offers that
// outlive their leader, revoked members that come back (docs/decisions, 35 and 36).
package leader

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/fold"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/internal/protocol/shell"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// Protocol is leader as one of the ways to agree.
type Protocol struct{ fold.Observer[opener] }

var _ protocol.Historian = Protocol{}

// opener finds the log in the store.
type opener struct{}

func (opener) Log(s protocol.Store) (store.Log, error) { return fold.Full(s, "leader") }

// Name implements protocol.Protocol.
func (Protocol) Name() string { return "leader" }

// Client implements protocol.Protocol.
func (Protocol) Client(s protocol.Store) (protocol.Client, error) {
	full, err := fold.Full(s, "leader")
	if err != nil {
		return nil, err
	}
	return &client{store: full, writer: cluster.WriterID("client-" + shell.Nonce())}, nil
}

// New implements protocol.Protocol.
func (Protocol) New(c protocol.Config) (protocol.Member, error) {
	return shell.New(c, Protocol{}, machine)
}

func machine(c protocol.Config, p member.Params) shell.Machine[State] {
	calls := &Caller{LogCaller: shell.NewLogCaller(c)}
	calls.Tied = Tied(c.Member)
	return shell.Machine[State]{
		Start: NewState(p, Role{Offer: 2 * c.TTL, StandBys: cluster.MaxStandBys, Whole: c.Whole, Audit: true}),
		Step:  Step, Caller: calls, Watched: State.Watching,
	}
}

// client asks the leader to enter commands, without being a member. One goroutine at a time.
type client struct {
	store  store.Full
	writer cluster.WriterID
	seq    uint64
}

// clientPoll is between two looks at a request.
const clientPoll = 50 * time.Millisecond

// Propose writes a request and returns when the leader has answered it.
func (c *client) Propose(ctx context.Context, commands ...cluster.Command) ([]cluster.Result, error) {
	c.seq++
	key := planKey(c.writer, c.seq)
	value, err := Encode(planDoc{Writer: c.writer, Seq: c.seq, AtMS: time.Now().UnixMilli(), Commands: commands})
	if err != nil {
		return nil, err
	}
	for written := 0; ; {
		_, err := c.store.Put(ctx, store.Doc{Key: key, Value: value})
		if err != nil && !errors.Is(err, store.ErrUnknown) && !errors.Is(err, store.ErrConflict) {
			return nil, fmt.Errorf("ask the leader: %w", err)
		}
		if err == nil {
			written++
		}
		results, again, err := c.await(ctx, key)
		switch {
		case !again:
			return results, err
		case written > 1:
			return nil, errors.New("ask the leader: the request was removed twice, without an answer; try: rota status")
		}
	}
}

// await waits for the answer. Again: the request is not there, and was never seen.
func (c *client) await(ctx context.Context, key string) (results []cluster.Result, again bool, err error) {
	for {
		d, err := c.store.Get(ctx, key)
		if errors.Is(err, store.ErrNotFound) {
			return nil, true, nil
		}
		if err == nil {
			doc, err := Decode(key, d.Value)
			if err != nil {
				return nil, false, fmt.Errorf("ask the leader: %q: %w", key, err)
			}
			if p, ok := doc.(planDoc); ok && p.Answer != nil {
				_ = c.store.Delete(ctx, key, d.Version) // the leader removes what is left
				if p.Answer.Err != "" {
					return nil, false, fmt.Errorf("ask the leader: %s", p.Answer.Err)
				}
				return p.Answer.Results, false, nil
			}
		}
		select {
		case <-ctx.Done():
			return nil, false, fmt.Errorf("ask the leader: outcome unknown: %w", context.Cause(ctx))
		case <-time.After(clientPoll):
		}
	}
}
