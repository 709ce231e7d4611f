package member

import (
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/outbox"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// Event is what happens to a member. At is the instant at which it reaches the member.
type Event interface{ At() protocol.Instant }

// Now is that instant, as the first field of each event.
type Now = protocol.Instant

// Events that every protocol has.
type (
	// Woken is the time that WakeAt asked for.
	Woken struct{ Now }
	// Hinted says that something below a prefix may have changed; "" is the log.
	Hinted struct {
		Now
		Prefix string
	}
	// Reported is what the supervisor reports.
	Reported struct {
		Now
		Version uint64
		Reports []protocol.Report // sorted by partition
	}
	// Proposed asks to have commands applied; Reply answers with the same ID.
	Proposed struct {
		Now
		ID       uint64
		Commands []cluster.Command
	}
	// Closed says that the store's handle was closed while the member ran: nothing can be called any more.
	Closed struct {
		Now
		Err error
	}
	// Stop asks to leave gracefully.
	Stop struct {
		Now
		Reason string
	}
)

// Point is where a log is: the chain hash after an entry.
type Point struct {
	Index cluster.Index
	Chain cluster.Hash
}

// PointOf is the point of a value.
func PointOf(v cluster.Value) Point { return Point{v.Index(), v.Chain()} }

// Events that protocols with a log have.
type (
	// Read answers ReadLog.
	Read struct {
		Now
		Page      store.Page
		Truncated bool
		Err       string // "" when it was answered
	}
	// SnapshotRead answers ReadSnapshot.
	SnapshotRead struct {
		Now
		Value cluster.Value
		Found bool
		Err   string
		Halt  error // the snapshot cannot be used by this member, ever
	}
	// LogChecked answers CheckLog. Has is before At where the log ends before it, and after At where the snapshot is.
	LogChecked struct {
		Now
		Asked cluster.Index
		Has   Point
		Err   string
	}
	// Appended answers Append.
	Appended struct {
		Now
		Seq     uint64
		Outcome outbox.Outcome
		Index   cluster.Index // when Done
		Data    []byte        // as it is stored there, when Done
		Err     string
	}
	// SnapshotSaved answers SaveSnapshot.
	SnapshotSaved struct{ Now }
	// Renewed answers Renew. Sent is an instant before the call was sent, TTL what the heartbeat states if it was written.
	Renewed struct {
		Now
		Sent    protocol.Instant
		Key     string
		TTL     time.Duration
		Outcome outbox.Outcome
		Err     string
	}
)
