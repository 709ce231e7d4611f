package fold

import (
	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/duty"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/internal/protocol/outbox"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
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
func (l *Ledger) Pass(c *member.Core) { l.Out = c.Reply(l.Out.Passed(l.Value.Index(), c.At)) }

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

// Append appends that entry as it is.
func (l *Ledger) Append(c *member.Core, holdBack bool, wanted func() []cluster.Command) {
	if e, ok := l.Say(c, holdBack, wanted); ok {
		c.Emit(member.Append{Entry: e})
	}
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

// Take takes in an answer of the log, or a request. Its error says that going on would be wrong.
func (l *Ledger) Take(c *member.Core, k Keeper, ev member.Event) error {
	switch ev := ev.(type) {
	case member.Read:
		c.Answered(ev.Err)
		return l.read(c, k, ev)
	case member.SnapshotRead:
		c.Answered(ev.Err)
		return l.loaded(c, k, ev)
	case member.LogChecked:
		c.Answered(ev.Err)
		return l.History.checked(c, ev)
	case member.Appended:
		return l.appended(c, k, ev)
	case member.SnapshotSaved:
		l.Saving = false
	case member.Proposed:
		l.Out = l.Out.With(outbox.Request{ID: ev.ID, Commands: ev.Commands})
	}
	return nil
}

// read applies what a read has returned.
func (l *Ledger) read(c *member.Core, k Keeper, ev member.Read) error {
	l.Busy, l.Next = false, c.At.Add(c.Poll)
	if ev.Err != "" {
		l.Rest = l.Next
		return nil
	}
	l.Next = c.At.Add(c.LogEvery())
	if ev.Truncated {
		l.Busy, l.Snap = true, true
		c.Emit(member.ReadSnapshot{})
		return nil
	}
	if cluster.Index(ev.Page.Head) < l.after { // the value may have own entries since, which this read did not see yet
		return &protocol.DivergedError{Index: l.after, Reason: shorter}
	}
	if !l.Began {
		l.Began, l.Ready = true, cluster.Index(ev.Page.Head)
	}
	err := l.apply(c, k, ev.Page.Records)
	l.Hint = l.Hint || len(ev.Page.Records) > 0 && uint64(l.Value.Index()) < ev.Page.Head
	return err
}

// loaded takes the value of a snapshot if it is newer.
func (l *Ledger) loaded(c *member.Core, k Keeper, ev member.SnapshotRead) error {
	l.Busy, l.Snap, l.Next = false, false, c.At.Add(c.Poll)
	if ev.Halt != nil || ev.Err != "" || !ev.Found || ev.Value.Index() <= l.Value.Index() {
		return ev.Halt
	}
	l.Value = ev.Value
	l.History.points = []member.Point{member.PointOf(l.Value)}
	l.savedAt, l.cost, l.Hint = l.Value.Applied(), 0, true
	l.Out = c.Reply(l.Out.Lost(l.Value.Wrote(c.Writer())))
	c.Emit(member.Applying{Value: k.Value()})
	return nil
}

// appended takes in what became of an own entry, unless that was read in the log before.
func (l *Ledger) appended(c *member.Core, k Keeper, ev member.Appended) (err error) {
	l.Out.Busy = false
	c.Appended(ev)
	switch {
	case !l.Out.Waits(ev.Seq):
		return nil
	case ev.Outcome != outbox.Done:
		l.Hint = l.Hint || ev.Outcome == outbox.Unknown
		l.Out = c.Reply(l.Out.Failed(ev.Outcome, ev.Err, c.At.Add(c.Poll)))
		return nil
	case ev.Index == l.Value.Index()+1: // what the next read would return: indexes grow and entries never change
		err = l.apply(c, k, []store.Record{{Index: uint64(ev.Index), Data: ev.Data}})
	default:
		l.Hint = true
	}
	if l.Out.Waits(ev.Seq) { // it is to be read yet, or nobody can read it
		l.Out = l.Out.At(ev.Index)
	}
	return err
}

// apply applies the new ones of the records.
func (l *Ledger) apply(c *member.Core, k Keeper, records []store.Record) error {
	if n := len(records); n == 0 || cluster.Index(records[n-1].Index) <= l.Value.Index() {
		return nil // own entries that were applied when they were acknowledged
	}
	applied := make([]protocol.Applied, 0, len(records))
	var others foreign // the applied entries that name another history
	var points []member.Point
	for _, rec := range records {
		if cluster.Index(rec.Index) <= l.Value.Index() {
			continue
		}
		a, cost, err := applyRecord(&l.Value, rec)
		if err != nil {
			return err
		}
		if cost > 0 {
			l.cost += cost
			k.Took(a)
			l.Out = c.Reply(l.Out.Took(c.At, c.Writer(), &l.Value, a))
			applied = append(applied, a)
			others.note(a, l.History.agrees(a.Entry, points))
		}
		points = append(points, member.PointOf(l.Value))
		if l.Value.Even() { // a snapshot may be taken of it
			even := l.Value
			l.even, l.evenCost = &even, l.cost
		}
	}
	l.History.note(c.At, points, others)
	c.Emit(member.Applying{Value: k.Value(), Entries: applied})
	if others.count > 0 && k.First() { // one record is enough
		c.Emit(member.Refusing{Key: others.key(), Reason: others.reason})
	}
	return nil
}

// applyRecord applies a record and returns the cost of applying it again: one for each partition that placement looks
// at, and a hundred for each command. The cost is 0 if the record is not an entry.
func applyRecord(v *cluster.Value, rec store.Record) (a protocol.Applied, cost int, err error) {
	e, ok, err := v.Decode(cluster.Index(rec.Index), rec.Data)
	if err != nil {
		return a, 0, err
	}
	if !ok {
		*v = v.Skip(cluster.Index(rec.Index), rec.Data)
		return a, 0, nil
	}
	next, done := v.Apply(e)
	*v = next
	if cost = 100 * (1 + len(e.Commands)); done.Planned {
		cost += v.PartitionCount()
	}
	return protocol.Applied{Entry: e, Results: done.Results, Duplicate: done.Duplicate, Foreign: done.Foreign}, cost, nil
}
