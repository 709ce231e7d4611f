package replica

import (
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/protocol/outbox"
	"github.com/rota-run/rota/store"
)

// Event is what happens to a member. The set is closed.
type Event interface{ at() protocol.Instant }

// Outcome is how a call ended.
type Outcome = outbox.Outcome

// The outcomes.
const (
	Done    = outbox.Done
	NotDone = outbox.NotDone
	Unknown = outbox.Unknown
	Refused = outbox.Refused
)

type (
	// Woken is the time that WakeAt asked for.
	Woken struct{ Now protocol.Instant }
	// Hinted says that something may have changed: the log, the watched pulse.
	Hinted struct {
		Now protocol.Instant
		Log bool
	}
	// Read answers ReadLog.
	Read struct {
		Now       protocol.Instant
		Page      store.Page
		Truncated bool
		Err       string // "" when it was answered
	}
	// SnapshotRead answers ReadSnapshot.
	SnapshotRead struct {
		Now   protocol.Instant
		Value cluster.Value
		Found bool
		Err   string
		Halt  error // the snapshot cannot be used by this member, ever
	}
	// Appended answers Append.
	Appended struct {
		Now     protocol.Instant
		Seq     uint64
		Outcome Outcome
		Index   cluster.Index // when Done
		Data    []byte        // as it stands there, when Done
		Err     string
	}
	// Renewed answers Renew. Sent is an instant before the call was sent.
	Renewed struct {
		Now, Sent protocol.Instant
		Key       string
		Outcome   Outcome
		Err       string
	}
	// PulseSeen answers CheckPulse; Version is "" when there is none.
	PulseSeen struct {
		Now     protocol.Instant
		Key     string
		Version store.Version
		TTL     time.Duration // for which its owner says that others wait; 0: it does not say
		Err     string
	}
	// PulsesListed answers ListPulses. A key that is missing proves nothing.
	PulsesListed struct {
		Now    protocol.Instant
		Pulses []Pulse // sorted by key
		Err    string
	}
	// SnapshotSaved answers SaveSnapshot.
	SnapshotSaved struct{ Now protocol.Instant }
	// Reported is what the supervisor tells.
	Reported struct {
		Now     protocol.Instant
		Version uint64
		Reports []protocol.Report // sorted by partition
	}
	// Proposed asks to append commands; Reply answers with the same ID.
	Proposed struct {
		Now      protocol.Instant
		ID       uint64
		Commands []cluster.Command
	}
	// Closed says that the store's handle was closed under the member: nothing can be called any more.
	Closed struct {
		Now protocol.Instant
		Err error
	}
	// Stop asks to leave in order.
	Stop struct {
		Now    protocol.Instant
		Reason string
	}
)

// Pulse is one pulse document.
type Pulse struct {
	Key     string
	Version store.Version
	TTL     time.Duration // for which its owner says that others wait; 0: it does not say
}

func (e Woken) at() protocol.Instant         { return e.Now }
func (e Hinted) at() protocol.Instant        { return e.Now }
func (e Read) at() protocol.Instant          { return e.Now }
func (e SnapshotRead) at() protocol.Instant  { return e.Now }
func (e Appended) at() protocol.Instant      { return e.Now }
func (e Renewed) at() protocol.Instant       { return e.Now }
func (e PulseSeen) at() protocol.Instant     { return e.Now }
func (e PulsesListed) at() protocol.Instant  { return e.Now }
func (e SnapshotSaved) at() protocol.Instant { return e.Now }
func (e Reported) at() protocol.Instant      { return e.Now }
func (e Proposed) at() protocol.Instant      { return e.Now }
func (e Closed) at() protocol.Instant        { return e.Now }
func (e Stop) at() protocol.Instant          { return e.Now }
