package leader

import (
	"time"

	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/internal/protocol/outbox"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

type (
	// Got answers Get. Sent is an instant before the call was sent; the document's Version is "" when there is none.
	Got struct {
		member.Now
		Sent protocol.Instant
		Doc  Doc
		Err  string
	}
	// Listed answers List. A key that is missing proves nothing, and what is there may be old.
	Listed struct {
		member.Now
		Prefix string
		Docs   []Doc // sorted by key
		Err    string
	}
	// Wrote answers Put and Delete. Conflict: not done, since the document was at another version.
	Wrote struct {
		member.Now
		Key      string
		Outcome  outbox.Outcome
		Conflict bool
		Version  store.Version // when done; "" when deleted
		Err      string
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

type (
	// Get reads one document.
	Get struct {
		member.Call
		Key string
	}
	// List reads the documents below a prefix.
	List struct {
		member.Call
		Prefix string
	}
	// Put writes a document if it is still at Version; "" creates it. With Life, the store removes it with the heartbeat of that life; 0 for none.
	Put struct {
		member.Call
		Key     string
		Doc     any
		Version store.Version
		Life    uint64
	}
	// Delete removes a document at Version.
	Delete struct {
		member.Call
		Key     string
		Version store.Version
	}
)
