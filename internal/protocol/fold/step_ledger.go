package fold

import (
	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/internal/protocol/outbox"
	"github.com/rota-run/rota/protocol"
)

// Ledger is what a member has of the log: the value, how far it has read, which calls of the log are in flight, and
// what it appends. It is a value: a copy of it is independent.
type Ledger struct {
	Value   cluster.Value
	Out     outbox.Box
	History history // of the applied entries

	Began bool             // Ready is known
	Ready cluster.Index    // head of the log at the first read
	Busy  bool             // a read is in flight
	Snap  bool             // that read is of the snapshot, because the entries after the value were trimmed
	Hint  bool             // there may be more to read
	Next  protocol.Instant // the next read without a hint
	Rest  protocol.Instant // no read before, not even with a hint: the last one failed

	after cluster.Index // of the read in flight
	snaps
}

// Keeper is the protocol whose member keeps the ledger.
type Keeper interface {
	// Took notes an entry that was applied, before the value has the next one.
	Took(a protocol.Applied)
	// Value is what the member shows.
	Value() cluster.Value
	// First reports whether this member does what one member should do.
	First() bool
}

// Whole reports whether the value is the one that the log had when the member first read it, or a newer one.
func (l *Ledger) Whole() bool { return l.Began && l.Value.Index() >= l.Ready }

// Look reads on if that is due, and reports whether it is. With: see [member.ReadLog].
func (l *Ledger) Look(c *member.Core, with bool) bool {
	if l.Busy || c.At < l.Rest || !l.Hint && c.At < l.Next {
		return false
	}
	l.Busy, l.Hint, l.after = true, false, l.Value.Index()
	c.Emit(member.ReadLog{After: l.after, With: with})
	return true
}

// Pass gives up an entry that those who read the log pass over.
func (l *Ledger) Pass(c *member.Core) {
	l.Out = c.Reply(l.Out.Passed(l.Value.Index(), c.At))
}

// Say returns the entry that is to be appended now: of what is wanted and, unless they are held back, of requests.
func (l *Ledger) Say(c *member.Core, holdBack bool, wanted func() []cluster.Command) (cluster.Entry, bool) {
	l.Pass(c)
	if l.Out.Rests(c.At) {
		return cluster.Entry{}, false
	}
	if l.Out.Pending == nil {
		l.Out = l.Out.Compose(c.At, c.Writer(), l.Value, wanted(), holdBack)
	}
	if !l.Out.Again(l.Value.Index()) {
		return cluster.Entry{}, false
	}
	l.Out.Busy = true // unknown, or acknowledged and yet not in the log
	return l.Out.Pending.Entry, true
}

// Settle ends a member that leaves when its leave stands in the log, or was not needed; in: this life of it is in the
// value.
func (l *Ledger) Settle(c *member.Core, in bool) {
	if c.Is == member.PhaseLeaving && c.Idle() && l.Out.Pending == nil && !in {
		c.Gone()
	}
}

// Due adds when the log is to be read or written next.
func (l *Ledger) Due(w *member.Waking) {
	w.Due(l.Busy, l.Next)
	w.Due(l.Out.Busy, l.Out.Next)
}

// Status is what a member knows of its membership.
func (l *Ledger) Status(c *member.Core) protocol.Status {
	return protocol.Status{
		Joined: c.In(), StoreError: c.Contact.Problem, TTLMS: c.Timing.Lengthened(c.StatedTTL()),
		Pending: len(l.Out.Queue), Foreign: l.History.Foreign, Refused: l.Out.Refused,
	}
}

// snaps is when a member writes snapshots.
type snaps struct {
	Saving   bool           // one is being written
	savedAt  uint64         // entries applied at the last snapshot
	lastSnap cluster.Index  // index of the last own snapshot
	cost     int            // of replaying the entries since the last snapshot
	even     *cluster.Value // the newest value of this step that a snapshot can be taken of, nil for none
	evenCost int            // cost at that value
}

// passed notes a value that a snapshot may be taken of.
func (l *Ledger) passed(v *cluster.Value) {
	if v.Even() {
		even := *v
		l.even, l.evenCost = &even, l.cost
	}
}

// replayCost is the cost of applying an entry again: one for each partition that placement looks at, and a hundred for
// each command.
func replayCost(after *cluster.Value, e cluster.Entry, planned bool) int {
	cost := 100 * (1 + len(e.Commands))
	if planned {
		cost += after.PartitionCount()
	}
	return cost
}

// Save asks for the snapshot that is due, of the newest value passed since the last call, if this member is the one
// that writes snapshots. It frees the entries before the former snapshot, so that readers that are a little late need
// not load it. Cost bounds that of replaying the entries between two; 0: no bound.
func (l *Ledger) Save(c *member.Core, cost int, writes func() bool) {
	even := l.even
	l.even = nil
	due := l.Value.Applied()-l.savedAt >= c.SnapshotEvery || cost > 0 && l.cost >= cost
	if l.Saving || !due || even == nil || even.Index() <= l.lastSnap || !writes() {
		return
	}
	c.Emit(member.SaveSnapshot{Value: *even, TrimTo: l.lastSnap})
	l.Saving, l.savedAt, l.lastSnap = true, even.Applied(), even.Index()
	l.cost -= l.evenCost
}
