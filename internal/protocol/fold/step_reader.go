package fold

import (
	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/duty"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/protocol"
)

// Reader is a member that knows the whole value, since it reads the log. A protocol's state embeds it, and is a value
// with it.
type Reader struct {
	member.Core
	Log  Ledger
	Work duty.Work
}

// Value is the newest value that the member has applied.
func (r Reader) Value() cluster.Value { return r.Log.Value }

// Status is what the member knows of its membership.
func (r Reader) Status() protocol.Status { return r.Log.Status(&r.Core) }

// Index implements member.Machine.
func (r *Reader) Index() cluster.Index { return r.Log.Value.Index() }

// First implements Keeper: of all that are joined one comes first.
func (r *Reader) First() bool {
	first, ok := r.Log.Value.FirstJoined()
	return ok && first == r.Member
}

// Writes reports whether this member writes snapshots.
func (r *Reader) Writes() bool { return r.Is == member.PhaseMember && r.First() }

// Leaves says that the member leaves, when nothing runs here any more; in: this life of it is in the value.
func (r *Reader) Leaves(m cluster.Member, in bool) []cluster.Command {
	if !in || !r.Idle() {
		return nil
	}
	return []cluster.Command{cluster.LeaveCluster{Member: m.ID, Incarnation: m.Incarnation, Reason: r.Stop,
		Hold: r.Holds()}}
}
