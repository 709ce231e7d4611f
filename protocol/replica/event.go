package replica

import (
	"time"

	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/protocol/member"
	"github.com/rota-run/rota/protocol/outbox"
	"github.com/rota-run/rota/store"
)

// Event is what happens to a member.
type Event = member.Event

// Outcome is how a call ended.
type Outcome = outbox.Outcome

// The outcomes.
const (
	Done    = outbox.Done
	NotDone = outbox.NotDone
	Unknown = outbox.Unknown
	Refused = outbox.Refused
)

// Events that every protocol has, and those with a log; see package member.
type (
	Woken         = member.Woken
	Hinted        = member.Hinted
	Reported      = member.Reported
	Proposed      = member.Proposed
	Closed        = member.Closed
	Stop          = member.Stop
	Read          = member.Read
	SnapshotRead  = member.SnapshotRead
	LogChecked    = member.LogChecked
	Appended      = member.Appended
	SnapshotSaved = member.SnapshotSaved
	Renewed       = member.Renewed
)

type (
	// HeartbeatSeen answers CheckHeartbeat; Version is "" when there is none.
	HeartbeatSeen struct {
		Now     protocol.Instant
		Key     string
		Version store.Version
		TTL     time.Duration // for which its owner says that others wait; 0: it does not say
		Err     string
	}
	// HeartbeatsListed answers ListHeartbeats. A key that is missing proves nothing.
	HeartbeatsListed struct {
		Now        protocol.Instant
		Heartbeats []Heartbeat // sorted by key
		Err        string
	}
)

// Heartbeat is one heartbeat document.
type Heartbeat struct {
	Key     string
	Version store.Version
	TTL     time.Duration // for which its owner says that others wait; 0: it does not say
}

// At implements Event.
func (e HeartbeatSeen) At() protocol.Instant { return e.Now }

// At implements Event.
func (e HeartbeatsListed) At() protocol.Instant { return e.Now }
