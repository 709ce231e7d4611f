package member

import (
	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/outbox"
)

// Naming names what the key of a state must not spell out, so that states which differ only in that have one key. Those who walk all states have one.
type Naming interface {
	// Any appends all that a value holds, but for the fields that skip lists as Type.Field.
	Any(b []byte, x any, skip ...string) []byte
	// Seq names a sequence number of a writer. Only the order of these numbers matters, and which of them are applied.
	Seq(w cluster.WriterID, seq uint64) int64
	// Known tells whether what is known of a heartbeat can still matter: whether a member may have it, now or later.
	Known(key string) bool
	// Entry appends what an entry says.
	Entry(b []byte, e cluster.Entry) []byte
	// Alias appends which text it is: that two are equal decides, and not what they say.
	Alias(b []byte, text string) []byte
}

// AppendBox appends the parts of an outbox that decide what its writer appends, but not when.
func AppendBox(b []byte, n Naming, w cluster.WriterID, o outbox.Box) []byte {
	b = n.Any(n.Any(n.Any(n.Any(b, n.Seq(w, o.Seq)), o.Busy), o.Limit), o.Tries())
	if o.Pending == nil {
		return append(b, 0)
	}
	return n.Entry(n.Any(n.Any(n.Any(append(b, 1), o.Pending.Known), o.Pending.Maybe), o.Pending.Acks > 0), o.Pending.Entry)
}
