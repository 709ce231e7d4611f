package leader

import (
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/protocol/outbox"
	"github.com/rota-run/rota/store"
)

// Event is what happens to a member. The set is closed.
type Event interface{ at() protocol.Instant }

type (
	// Woken is the time that WakeAt asked for.
	Woken struct{ Now protocol.Instant }
	// Hinted says that something below a prefix may have changed; "" stands for the log.
	Hinted struct {
		Now    protocol.Instant
		Prefix string
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
	// SnapshotSaved answers SaveSnapshot.
	SnapshotSaved struct{ Now protocol.Instant }
	// Appended answers Append.
	Appended struct {
		Now     protocol.Instant
		Seq     uint64
		Outcome outbox.Outcome
		Index   cluster.Index // when Done
		Data    []byte        // as it stands there, when Done
		Err     string
	}
	// Renewed answers Renew. Sent is an instant before the call was sent.
	Renewed struct {
		Now, Sent protocol.Instant
		Key       string
		Outcome   outbox.Outcome
		Err       string
	}
	// Got answers Get. Sent is an instant before the call was sent; the document's Version is "" when there is none.
	Got struct {
		Now, Sent protocol.Instant
		Doc       Doc
		Err       string
	}
	// Listed answers List. A key that is missing proves nothing, and what is there may be old.
	Listed struct {
		Now    protocol.Instant
		Prefix string
		Docs   []Doc // sorted by key
		Err    string
	}
	// Wrote answers Put and Delete. Conflict: not done, since the document was at another version.
	Wrote struct {
		Now      protocol.Instant
		Key      string
		Outcome  outbox.Outcome
		Conflict bool
		Version  store.Version // when done; "" when deleted
		Err      string
	}
	// Reported is what the supervisor tells.
	Reported struct {
		Now     protocol.Instant
		Version uint64
		Reports []protocol.Report // sorted by partition
	}
	// Proposed asks to have commands applied; Reply answers with the same ID.
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

// Doc is a document as it was read.
type Doc struct {
	Key     string
	Version store.Version
	Value   any           // one of the documents of this package; nil for a heartbeat, and for what Bad is said of
	Bad     string        // why it cannot be what it should be
	TTL     time.Duration // of a heartbeat: for which its owner says that others wait; 0: it does not say
}

func (e Woken) at() protocol.Instant         { return e.Now }
func (e Hinted) at() protocol.Instant        { return e.Now }
func (e Read) at() protocol.Instant          { return e.Now }
func (e SnapshotRead) at() protocol.Instant  { return e.Now }
func (e SnapshotSaved) at() protocol.Instant { return e.Now }
func (e Appended) at() protocol.Instant      { return e.Now }
func (e Renewed) at() protocol.Instant       { return e.Now }
func (e Got) at() protocol.Instant           { return e.Now }
func (e Listed) at() protocol.Instant        { return e.Now }
func (e Wrote) at() protocol.Instant         { return e.Now }
func (e Reported) at() protocol.Instant      { return e.Now }
func (e Proposed) at() protocol.Instant      { return e.Now }
func (e Closed) at() protocol.Instant        { return e.Now }
func (e Stop) at() protocol.Instant          { return e.Now }
