package sync

import (
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol/shell"
	"github.com/rota-run/rota/store"
)

// Effect is what a member wants done. Those below, and those of package shell, are all that the protocol can do to the world.
type Effect = shell.Effect

// Effects that every protocol has, and those with a log; see package shell.
type (
	Assign       = shell.Assign
	Reply        = shell.Reply
	Applying     = shell.Applying
	Joining      = shell.Joining
	Removing     = shell.Removing
	Refusing     = shell.Refusing
	StoreChanged = shell.StoreChanged
	WakeAt       = shell.WakeAt
	Left         = shell.Left
	Halt         = shell.Halt
	ReadLog      = shell.ReadLog
	ReadSnapshot = shell.ReadSnapshot
	SaveSnapshot = shell.SaveSnapshot
	CheckLog     = shell.CheckLog
)

type (
	// Append appends an entry as a record of an epoch. Entry.AtMS is stamped when it is sent.
	Append struct {
		shell.Call
		Entry cluster.Entry
		Epoch string
	}
	// JoinGroup makes the member one of the next generation; ID is "" for a new one. It lasts until the others have joined.
	JoinGroup struct {
		shell.Call
		ID      string
		Join    cluster.PrepareJoin
		Session time.Duration // for how long the group is to keep it while it is silent
		Usual   time.Duration // what is asked for where the group allows no longer Session
	}
	// SyncGroup waits until the generation is a fact.
	SyncGroup struct {
		shell.Call
		Seat    store.Seat
		Session time.Duration
	}
	// Beat renews the membership.
	Beat struct {
		shell.Call
		Seat    store.Seat
		Session time.Duration
	}
	// LeaveGroup ends a membership in which the member was removed.
	LeaveGroup struct {
		shell.Call
		ID string
	}
)
