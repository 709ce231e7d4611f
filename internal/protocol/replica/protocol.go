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
	"path"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/fold"
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
