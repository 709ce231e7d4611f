package sync

import (
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
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

type (
	// Append appends an entry as a record of an epoch. Entry.AtMS is stamped when it is sent.
	Append struct {
		member.Call
		Entry cluster.Entry
		Epoch string
	}
	// JoinGroup makes the member one of the next generation; ID is "" for a new one. It lasts until the others have joined.
	JoinGroup struct {
		member.Call
		ID      string
		Join    cluster.PrepareJoin
		Session time.Duration // for how long the group is to keep it while it is silent
		Usual   time.Duration // what is asked for where the group allows no longer Session
	}
	// SyncGroup waits until the generation is a fact.
	SyncGroup struct {
		member.Call
		Seat    store.Seat
		Session time.Duration
	}
	// Beat renews the membership.
	Beat struct {
		member.Call
		Seat    store.Seat
		Session time.Duration
	}
	// LeaveGroup ends a membership in which the member was removed.
	LeaveGroup struct {
		member.Call
		ID string
	}
)
