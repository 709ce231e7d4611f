package fold

import (
	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/internal/protocol/outbox"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

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
		l.passed(&l.Value)
	}
	l.History.note(c.At, points, others)
	c.Emit(member.Applying{Value: k.Value(), Entries: applied})
	if others.count > 0 && k.First() { // one record is enough
		c.Emit(member.Refusing{Key: others.key(), Reason: others.reason})
	}
	return nil
}

// applyRecord applies a record and returns its cost, see replayCost. The cost is 0 if the record is not an entry.
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
	return protocol.Applied{Entry: e, Results: done.Results, Duplicate: done.Duplicate, Foreign: done.Foreign},
		replayCost(v, e, done.Planned), nil
}
