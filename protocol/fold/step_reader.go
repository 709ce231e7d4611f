package fold

import (
	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/protocol/history"
	"github.com/rota-run/rota/protocol/member"
	"github.com/rota-run/rota/store"
)

// Reader is how far a member has read the log, and which calls of the log are in flight. It is a value: a copy of it is independent.
type Reader struct {
	History history.History  // of the applied entries
	Began   bool             // Ready is known
	Ready   cluster.Index    // head of the log at the first read
	Busy    bool             // a read is in flight
	Snap    bool             // that read is of the snapshot, because the entries after the value were trimmed
	Hint    bool             // there may be more to read
	Next    protocol.Instant // the next read without a hint
	Rest    protocol.Instant // no read before, not even with a hint: the last one failed

	after cluster.Index // of the read in flight
	snaps
}

// Turn is the event that a Reader handles.
type Turn struct {
	Now   protocol.Instant
	Retry protocol.Instant         // after a failure
	Next  protocol.Instant         // the next read without a hint
	Took  func(a protocol.Applied) // called after each entry, before the value has the next one
}

// Taken is the result of an event.
type Taken struct {
	Moved   bool               // the value has changed
	Applied []protocol.Applied // the entries that changed it
	Halt    error              // the member must end

	trimmed bool            // the snapshot must be read
	foreign history.Foreign // the applied entries that name another history
}

// Effects returns the effects of the event. The value is what the member shows; reports says whether it reports foreign entries: one record is enough.
func (t Taken) Effects(v cluster.Value, reports func() bool) []member.Effect {
	var out []member.Effect
	if t.trimmed {
		out = append(out, member.ReadSnapshot{})
	}
	if t.Moved {
		out = append(out, member.Applying{Value: v, Entries: t.Applied})
	}
	if t.foreign.Count > 0 && reports() {
		out = append(out, member.Refusing{Key: t.foreign.Key(), Reason: t.foreign.Reason})
	}
	return out
}

// Look returns the next read if it is due.
func (r *Reader) Look(now protocol.Instant, at cluster.Index) (member.ReadLog, bool) {
	if r.Busy || now < r.Rest || !r.Hint && now < r.Next {
		return member.ReadLog{}, false
	}
	r.Busy, r.Hint, r.after = true, false, at
	return member.ReadLog{After: at}, true
}

// Read applies what a read has returned.
func (r *Reader) Read(v *cluster.Value, ev member.Read, t Turn) Taken {
	r.Busy, r.Next = false, t.Retry
	if ev.Err != "" {
		r.Rest = t.Retry
		return Taken{}
	}
	r.Next = t.Next
	if ev.Truncated {
		r.Busy, r.Snap = true, true
		return Taken{trimmed: true}
	}
	if cluster.Index(ev.Page.Head) < r.after { // the member may have applied own entries since, which this read did not see yet
		return Taken{Halt: &protocol.DivergedError{Index: r.after, Reason: shorter}}
	}
	if !r.Began {
		r.Began, r.Ready = true, cluster.Index(ev.Page.Head)
	}
	taken := r.apply(v, ev.Page.Records, t)
	r.Hint = r.Hint || len(ev.Page.Records) > 0 && uint64(v.Index()) < ev.Page.Head
	return taken
}

// Loaded takes the value of a snapshot if it is newer.
func (r *Reader) Loaded(v *cluster.Value, ev member.SnapshotRead, t Turn) Taken {
	r.Busy, r.Snap, r.Next = false, false, t.Retry
	if ev.Halt != nil || ev.Err != "" || !ev.Found || ev.Value.Index() <= v.Index() {
		return Taken{Halt: ev.Halt}
	}
	*v = ev.Value
	r.History = r.History.From(history.At(*v))
	r.savedAt, r.cost, r.Hint = v.Applied(), 0, true
	return Taken{Moved: true}
}

// Acknowledged handles the index of an own entry. Directly after the value it is what the next read would return, since indexes grow and entries never
// change. Else it is false: the entry must be read.
func (r *Reader) Acknowledged(v *cluster.Value, ev member.Appended, t Turn) (Taken, bool) {
	if ev.Index == v.Index()+1 {
		return r.apply(v, []store.Record{{Index: uint64(ev.Index), Data: ev.Data}}, t), true
	}
	r.Hint = true
	return Taken{}, false
}

// apply applies the new ones of the records.
func (r *Reader) apply(v *cluster.Value, records []store.Record, t Turn) Taken {
	if n := len(records); n == 0 || cluster.Index(records[n-1].Index) <= v.Index() {
		return Taken{} // own entries that were applied when they were acknowledged
	}
	taken := Taken{Moved: true, Applied: make([]protocol.Applied, 0, len(records))}
	var points []history.Point
	for _, rec := range records {
		if cluster.Index(rec.Index) <= v.Index() {
			continue
		}
		a, cost, err := applyRecord(v, rec)
		if err != nil {
			return Taken{Halt: err}
		}
		if cost > 0 {
			r.cost += cost
			t.Took(a)
			taken.Applied = append(taken.Applied, a)
			taken.foreign = taken.foreign.Note(a, r.History.Agrees(a.Entry, points))
		}
		points = append(points, history.At(*v))
		r.passed(v)
	}
	r.History = r.History.With(points)
	r.History = r.History.Suspect(t.Now, taken.foreign)
	return taken
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
	return protocol.Applied{Entry: e, Results: done.Results, Duplicate: done.Duplicate, Foreign: done.Foreign}, replayCost(v, e, done.Planned), nil
}

// Check asks the store which history it has, while there is a doubt.
func (r *Reader) Check(now protocol.Instant, at cluster.Index) (member.CheckLog, bool) {
	h, ask := r.History.Ask(now)
	r.History = h
	return member.CheckLog{At: at}, ask
}

// Checked handles the answer.
func (r *Reader) Checked(ev member.LogChecked, t Turn) Taken {
	h, why := r.History.Answer(t.Now, ev.Asked, ev.Has, ev.Err != "", t.Retry.Sub(t.Now))
	if r.History = h; why != "" {
		return Taken{Halt: &protocol.DivergedError{Index: ev.Asked, Reason: why}}
	}
	return Taken{}
}
