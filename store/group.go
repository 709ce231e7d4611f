package store

import (
	"context"
	"errors"
	"time"
)

// The answers of a group that a member can act on, beside [ErrSession]: the member is not in the group (any more), and can join as a new one.
var (
	// ErrRebalance says that the group forms a new generation. The member is still in it: join again with the same ID.
	ErrRebalance = errors.New("the group is forming a new generation")
	// ErrGeneration says that the group has another generation than the one named. Nothing was renewed: join again with the same ID.
	ErrGeneration = errors.New("the group has another generation")
)

// Group is membership that the store decides: it admits members, notices the silent ones, and begins a new generation with every change. All members
// of a generation know its number and its leader; the leader alone gets the list of members, and gives each of them some bytes. What
// members say to each other at other times goes through a [Log].
//
// # The round
//
// Join, then Sync, then Heartbeat until it answers [ErrRebalance] or [ErrGeneration] (join again with the same ID) or [ErrSession] (join with none).
// Join returns when all members have joined again, or Rebalance has passed since the group began to wait; those that did not are out of
// the group. Sync returns when the leader has called it. A call of a member that is not answered yet is answered with ErrRebalance when the same
// member makes the same call again.
//
// # Generations
//
// A generation is a fact when a Sync of it was acknowledged. Before, the store may forget it, and give its number to a generation with other members and
// another leader: nobody may act on a Join alone. The numbers of facts grow while the group has members. A group that nobody is in may be
// forgotten, and then begins with small numbers again: who orders by generation across that counts the starts too.
//
// # Time
//
// A member stays in the group for min(Session, Rebalance) after the call of its Sync that was answered with nil, and of each Heartbeat after it that
// was, unless it leaves: count from the moment before the call. ErrRebalance promises nothing: it does not say when the group began to wait.
//
// # Unknown
//
// A Join, Sync or Leave that ends without an answer may have happened. To make the call again is always allowed.
type Group interface {
	// JoinGroup makes the caller a member of the next generation. Where the error is not nil, Membership.ID may still be set: the member exists, or may
	// exist, under that ID; join again with it, or leave. ErrSession: the request named an ID that is not in the group.
	JoinGroup(ctx context.Context, r JoinRequest) (Membership, error)
	// SyncGroup returns what the leader gave to the member, empty if nothing. The leader calls it with what it gives to each member; data of others, and for
	// members that are not in the generation, is ignored. ErrRebalance, ErrGeneration, ErrSession as above.
	SyncGroup(ctx context.Context, s Seat, give []GroupMember) ([]byte, error)
	// Heartbeat renews a membership. ErrRebalance, ErrGeneration, ErrSession as above.
	Heartbeat(ctx context.Context, s Seat) error
	// LeaveGroup ends a membership now; what the store may forget of a generation that is no fact yet, it may forget of this too, and remove the member
	// by its silence. The ID is not given again. Leaving again does nothing.
	LeaveGroup(ctx context.Context, id string) error
}

// JoinRequest is what a member says of itself.
type JoinRequest struct {
	ID   string // "" for a new member, which gets one
	Data []byte // for the leader's list
	// Session is how long a member may be silent, and Rebalance how long the group waits for one that must join again. A store may refuse times outside of
	// its limits. The group waits for the longest Rebalance of its members.
	Session, Rebalance time.Duration
}

// Seat is a member's place in one generation.
type Seat struct {
	ID         string
	Generation uint64
}

// GroupMember is bytes of one member, or for it.
type GroupMember struct {
	ID   string
	Data []byte
}

// Membership is one generation, as one member gets to know it.
type Membership struct {
	Seat
	Leader  string        // the ID of the leader
	Members []GroupMember // with what they said in Join, sorted by ID; nil for all but the leader
}

// Leads tells whether the member is the leader of its generation.
func (m Membership) Leads() bool { return m.ID != "" && m.ID == m.Leader }
