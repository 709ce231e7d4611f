// Package sync is the protocol on a topic and a group: membership is the group's, all else is said in one topic, in
// epochs.
//
// # Purpose
//
// Kafka decides who lives. The group's leader announces each generation as an epoch in the sync topic; there it counts.
// Each member reads the whole topic, and so holds the same value. What has no owner is placed by the same pure function
// in each of them; what has one is moved by its owner alone, which shares it with another member.
//
// # State
//
//	reading ──→ joining ──→ waiting ──→ joined ←─→ apart ──→ leaving ──→ gone
//	 (to the     (the group  (for an      │  ↑    (the group forms
//	  end, so     waits for   epoch that  │  │     another generation)
//	  prepared    others)     names us)   ↓  │
//	  first)                            removed (stops all that it ran, then joins as a new member of the group)
//
// Any phase ends in halted when going on would be wrong: the topic was rewritten, a newer format, the name is taken.
//
// # Messages
//
// Records in the sync topic, one for each entry, in the shape of the source document:
//
//	{"syncEpoch":"1.4/web-1", "taskID":"web-2-5f3e", "messageTimestamp":"2026-11-22T11:00:00.000Z",
//	 "connectorState":[{"taskID":"web-2-5f3e", "stateTimestamp":"...", "data":{"commands":[...]}, "share":{"partitions":[...]}}],
//	 "sequence":7, "format":6, "base":{"index":41,"chain":123}}
//
// A record says what its writer changes of its own state: data has the commands, share has what it gives away. After
// each epoch a member lists all that it owns, and later what others have shared with it. The group knows each member by
// what it says of itself in Join, and gets a heartbeat eight times in a TTL.
//
// # Guarantees
//
//   - At every index a partition has at most one granted owner, with a token that grows (G1).
//   - Epochs are ordered by (start, generation); one that comes late is refused. A start is counted when the group was
//     forgotten and begins with small generations again.
//   - An epoch moves nothing of those that it names. A join therefore stops nobody: the members share with the new one,
//     as their plans say.
//   - A share counts at its offset, if its target is in the present epoch; else it is void, and the owner keeps what it
//     has. What is on its way to a member that is lost goes on to another one.
//   - A member holds its grants until TTL(1−ρ) − margin after it sent the last Sync or Heartbeat that the group agreed
//     to. The group keeps it for the TTL after that call, so no generation without it is formed before (G2). A lease
//     that ran out begins again when the group agrees to a heartbeat: it was never without the member.
//   - After a crash the partitions have another owner within 2 TTL + TTL/8 + 2 polls + 4 round trips, and mostly within
//     the TTL: a second TTL is for a group that waited for the dead one in a change that was under way (G4). A graceful
//     leave is an entry, and waits for nobody.
//   - Everything is derived from the value and done again until the value agrees (G9).
//
// # What is not guaranteed
//
// Pools of slots: jobs that need them are refused. Nobody is asked whether it is alive but by the group: a broker that
// is frozen for the TTL stops all work (its members' leases end), and gives it back when it answers. A member that dies
// while the group forms a generation lets the others wait for it; their leases may end before, and they go on when the
// generation is complete. A Join that arrives after its sender has given it up counts as such a member.
//
// # Failures
//
// Topic away: the member goes on as long as the group agrees. Group away: it goes on until its lease ends. A leader
// that cannot write its epoch tries again; if it dies, the group elects another one, in a new generation. Unknown
// outcome of an append: the same record again, with the same sequence.
//
// # Where it comes from
//
// The source document "Scalability" of a connector for change streams (kafka-scalability), whose epochs have no order,
// whose states are ordered by clocks, and whose shares must be picked up: docs/decisions, 50 and 51, say what is done
// instead.
package sync

import (
	"context"
	"errors"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/fold"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/internal/protocol/shell"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// Protocol is sync as one of the ways to agree.
type Protocol struct{ fold.Observer[opener] }

var _ protocol.Historian = Protocol{}

// Name implements protocol.Protocol.
func (Protocol) Name() string { return "sync" }

// Fits implements protocol.Protocol: the store needs a group, and a log. Without a group its log can be read all the
// same, as a copy of a cluster is.
func (p Protocol) Fits(s protocol.Store) error {
	if _, ok := s.(store.Group); !ok {
		return errors.New("the protocol sync needs a store with groups, and kafka alone has them: try --protocol replica on this store")
	}
	return p.Observer.Fits(s)
}

// New implements protocol.Protocol.
func (Protocol) New(c protocol.Config) (protocol.Member, error) {
	return shell.New(c, Protocol{}, machine)
}

// opener finds the sync topic in the store, decoded.
type opener struct{}

func (opener) Log(s protocol.Store) (store.Log, error) {
	log, ok := s.(store.Full)
	if !ok {
		return nil, errors.New("the protocol sync needs a store with a log: kafka has one")
	}
	return Records{log}, nil
}

// Client implements protocol.Protocol. Before a cluster has its first member, its client also chooses the placement,
// which says what jobs can run.
func (Protocol) Client(s protocol.Store) (protocol.Client, error) {
	log, err := opener{}.Log(s)
	if err != nil {
		return nil, err
	}
	return &fold.Client{Log: log, Encode: encodeReadable, First: chosen}, nil
}

func chosen(v cluster.Value) []cluster.Command {
	if v.Settings().Placement != cluster.PlacementPlanned {
		return nil
	}
	return []cluster.Command{cluster.Place{Placement: cluster.PlacementShared}}
}

// encodeReadable encodes an entry as a record of the present epoch. It refuses one that cannot be read back.
func encodeReadable(v cluster.Value, e cluster.Entry) ([]byte, error) {
	message, err := EncodeRecord(e, epochOf(v))
	if err != nil {
		return nil, err
	}
	_, err = DecodeRecord(message)
	return message, err
}

func machine(c protocol.Config, p member.Params) shell.Machine[State] {
	p.Longest = min(longest*c.TTL, p.Longest)
	return shell.Machine[State]{
		Start: NewState(p), Step: Step, Caller: NewCaller(shell.NewLogCaller(c)),
		Watched: func(State) ([]string, bool) { return nil, true },
	}
}

// Records is the sync topic as a log of entries, for those who read it: each message is decoded. What is no record is
// no entry either.
type Records struct{ store.Log }

// Read implements store.Log.
func (r Records) Read(ctx context.Context, after uint64, limit int) (store.Page, error) {
	page, err := r.Log.Read(ctx, after, limit)
	decoded := make([]store.Record, len(page.Records))
	for i, rec := range page.Records {
		decoded[i] = store.Record{Index: rec.Index, Data: Binary(rec.Data)}
	}
	page.Records = decoded
	return page, err
}

// Binary is the entry of a message, as package cluster encodes it; for what is no record, bytes that are no entry.
func Binary(message []byte) []byte {
	e, err := DecodeRecord(message)
	if other, ok := errors.AsType[*cluster.FormatError](err); ok {
		return other.Entry()
	}
	if err != nil {
		return append([]byte{0}, message...)
	}
	return e.Encode()
}

// epochOf is the present epoch, for people.
func epochOf(v cluster.Value) string {
	e, ok := v.Epoch()
	if !ok {
		return "none"
	}
	return e.String() + "/" + string(e.Leader)
}
