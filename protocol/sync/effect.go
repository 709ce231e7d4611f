package sync

import (
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol/member"
	"github.com/rota-run/rota/store"
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
