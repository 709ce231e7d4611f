package inside

import (
	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/outbox"
	"github.com/rota-run/rota/proof/sim/walk"
)

// Box appends the parts of an outbox that decide what its writer appends, but not when.
func Box(b []byte, n *walk.Names, w cluster.WriterID, o *outbox.Box) []byte {
	b = n.All(b, n.Seq(w, o.Seq), o.Busy, o.Limit)
	for _, r := range Into(o).At("refusals").List() {
		b = n.Any(append(b, 1), r.At("tries").Any())
	}
	if o.Pending == nil {
		return append(b, 0)
	}
	return n.Entry(n.All(append(b, 2), o.Pending.Known, o.Pending.Maybe, o.Pending.Acks > 0), o.Pending.Entry)
}
