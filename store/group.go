package store

import (
	"context"
	"errors"
	"time"
)

// The errors of a group that a member can act on, beside [ErrSession]: the member is not in the group (any more), and
// can join as a new one.
var (
	// ErrRebalance reports that the group forms a new generation. The member is still in it: join again with the same
	// ID.
	ErrRebalance = errors.New("the group is forming a new generation")
	// ErrGeneration reports that the group has another generation than the one named. Nothing was renewed: join again
	// with the same ID.
	ErrGeneration = errors.New("the group has another generation")
)

// Group is membership that the store decides: it admits members, detects silent ones, and starts a new generation with
// every change. All members of a generation know its number and its leader. Only the leader gets the list of members,
// and it assigns some bytes to each of them. At other times members communicate through a [Log].
//
// # The round
//
// Call Join, then Sync, then Heartbeat until it returns [ErrRebalance] or [ErrGeneration] (join again with the same ID)
// or [ErrSession] (join without an ID). Join returns when all members have joined again, or when Rebalance has passed
// since the group began to wait; members that did not join are then out of the group. Sync returns when the leader has
// called it. If a member repeats a call that is still pending, the pending call returns ErrRebalance.
//
// # Generations
//
// A generation is a fact when a Sync of it was acknowledged. Before that, the store may forget it, and reuse its number
// for a generation with other members and another leader: never act on a Join alone. The numbers of facts grow while
// the group has members. An empty group may be forgotten, and then starts with small numbers again: to order
// generations across that, count the starts too.
//
// # Time
//
// A member stays in the group for min(Session, Rebalance) after the call of its last successful Sync or Heartbeat,
// unless it leaves: count from the moment before the call. ErrRebalance promises nothing: it does not say when the
// group began to wait.
//
// # Unknown
//
// A Join, Sync or Leave that ends without an answer may have happened. Repeating the call is always allowed.
type Group interface {
	// JoinGroup makes the caller a member of the next generation. If the error is not nil, Membership.ID may still be
	// set: the member exists, or may exist, under that ID; join again with it, or leave. ErrSession: the request named
	// an ID that is not in the group.
	JoinGroup(ctx context.Context, r JoinRequest) (Membership, error)
	// SyncGroup returns the bytes that the leader assigned to the member, empty if none. The leader calls it with the
	// bytes for each member; bytes from others, and for members that are not in the generation, are ignored.
	// ErrRebalance, ErrGeneration, ErrSession as above.
	SyncGroup(ctx context.Context, s Seat, give []GroupMember) ([]byte, error)
	// Heartbeat renews a membership. ErrRebalance, ErrGeneration, ErrSession as above.
	Heartbeat(ctx context.Context, s Seat) error
	// LeaveGroup ends a membership now. If the store forgets a generation that is not a fact, it may also forget the
	// leave; then the silence of the member ends the membership. The ID is not reused. Leaving again does nothing.
	LeaveGroup(ctx context.Context, id string) error
}

// JoinRequest describes a joining member.
type JoinRequest struct {
	ID   string // "" for a new member, which gets an ID
	Data []byte // for the leader's list
	// Session is how long a member may be silent, and Rebalance how long the group waits for members that must join
	// again. A store may refuse times outside its limits. The group waits for the longest Rebalance of its members.
	Session, Rebalance time.Duration
	// Given, if not nil, hears the ID of a new member before the group is waited for, where the store tells it so soon.
	Given func(id string)
}

// Seat is a member's place in one generation.
type Seat struct {
	ID         string
	Generation uint64
}

// GroupMember is bytes from one member, or for it.
type GroupMember struct {
	ID   string
	Data []byte
}

// Membership is one generation, as one member sees it.
type Membership struct {
	Seat
	Leader  string        // the ID of the leader
	Members []GroupMember // with their Data from Join, sorted by ID; nil for all members but the leader
}

// Leads reports whether the member is the leader of its generation.
func (m Membership) Leads() bool { return m.ID != "" && m.ID == m.Leader }
