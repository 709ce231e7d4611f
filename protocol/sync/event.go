package sync

import (
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/protocol/member"
)

// Answer is what the group says to a call.
type Answer uint8

// The answers.
const (
	Failed  Answer = iota // nobody knows whether it was done
	Agreed                // done
	Again                 // the group has, or forms, another generation: join with the same ID
	Outside               // the ID is not in the group
)

// Companion is a member of the group, as its leader gets to know it.
type Companion struct {
	ID   string
	Join cluster.PrepareJoin
	Bad  bool // what it said of itself is not what a member says
}

type (
	// Joined answers JoinGroup. The ID may be set also where it failed.
	Joined struct {
		member.Now
		ID         string
		Session    time.Duration // for how long the group keeps that member while it is silent
		Generation uint64
		Leads      bool
		Members    []Companion // sorted by ID; nil for all but the leader
		Answer     Answer
		Err        string
	}
	// Synced answers SyncGroup. Sent is an instant before the call was sent.
	Synced struct {
		member.Now
		Sent   protocol.Instant
		Answer Answer
		Err    string
	}
	// Beaten answers Beat. Sent is an instant before the call was sent.
	Beaten struct {
		member.Now
		Sent   protocol.Instant
		Answer Answer
		Err    string
	}
	// GroupLeft answers LeaveGroup.
	GroupLeft struct {
		member.Now
		Err string
	}
)
