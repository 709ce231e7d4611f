package replica

import (
	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/protocol/history"
	"github.com/rota-run/rota/store"
)

// logReader is where the member stands in reading the log.
type logReader struct {
	call
	after cluster.Index // of the read that is under way
	hint  bool          // there may be more
	snap  bool          // a snapshot is being read: the entries behind the value were trimmed
}

func (s *step) hinted(ev Hinted) {
	if ev.Prefix == "" {
		s.log.hint = true
		return
	}
	s.check.next = s.now
}

func (s *step) readLog() {
	if s.log.busy || s.now < s.log.rest || !s.log.hint && s.now < s.log.next {
		return
	}
	s.log.busy, s.log.hint, s.log.after = true, false, s.value.Index()
	s.emit(ReadLog{After: s.log.after})
}

func (s *step) read(ev Read) {
	s.log.busy = false
	s.log.next = s.now.Add(s.p.Poll)
	if s.answered(ev.Err); ev.Err != "" {
		s.log.rest = s.log.next
		return
	}
	s.log.next = s.now.Add(max(s.p.Poll, s.p.LogEvery))
	if ev.Truncated {
		s.log.busy, s.log.snap = true, true
		s.emit(ReadSnapshot{})
		return
	}
	if cluster.Index(ev.Page.Head) < s.log.after { // what we appended since need not be there yet
		s.halt(&protocol.DivergedError{Index: s.log.after, Reason: "the log is shorter than what was read from it before"})
		return
	}
	if !s.began {
		s.began, s.ready = true, cluster.Index(ev.Page.Head)
	}
	s.apply(ev.Page.Records)
	s.log.hint = s.log.hint || len(ev.Page.Records) > 0 && uint64(s.value.Index()) < ev.Page.Head
}

func (s *step) snapshotRead(ev SnapshotRead) {
	s.log.busy, s.log.snap = false, false
	s.log.next = s.now.Add(s.p.Poll)
	switch s.answered(ev.Err); {
	case ev.Halt != nil:
		s.halt(ev.Halt)
	case ev.Err != "" || !ev.Found:
	case ev.Value.Index() > s.value.Index():
		s.value = ev.Value
		s.history = s.history.From(history.At(s.value))
		s.snapAt, s.cost = s.value.Applied(), 0
		s.log.hint = true
		s.unresolved()
		s.emit(Applying{Value: s.value})
	}
}

// apply folds records into the value, those of them that are new.
func (s *step) apply(records []store.Record) {
	if n := len(records); n == 0 || cluster.Index(records[n-1].Index) <= s.value.Index() {
		return // or we appended, since the read was sent, all that it brings
	}
	applied := make([]protocol.Applied, 0, len(records))
	var points []history.Point
	var foreign history.Foreign
	for _, r := range records {
		if cluster.Index(r.Index) <= s.value.Index() {
			continue
		}
		e, ok, err := s.value.Decode(cluster.Index(r.Index), r.Data)
		if err != nil {
			s.halt(err)
			return
		}
		if !ok {
			s.value = s.value.Skip(cluster.Index(r.Index), r.Data)
		} else {
			a := s.applyEntry(e)
			applied = append(applied, a)
			foreign = foreign.Note(a, s.history.Agrees(e, points))
		}
		points = append(points, history.At(s.value))
		if s.value.Even() {
			s.even, s.evenCost = s.value, s.cost
		}
	}
	s.history = s.history.With(points)
	s.emit(Applying{Value: s.value, Entries: applied})
	s.suspect(foreign)
}

func (s *step) applyEntry(e cluster.Entry) protocol.Applied {
	next, done := s.value.Apply(e)
	s.value = next
	s.cost += replayCost(&next, e, done)
	if done.Duplicate {
		s.unresolved()
	} else {
		s.resolve(e, done.Results)
	}
	return protocol.Applied{Entry: e, Results: done.Results, Duplicate: done.Duplicate, Foreign: done.Foreign}
}

// answered notes whether the store answers, and tells when that changes.
func (s *step) answered(err string) {
	if (err == "") != (s.problem == "") {
		s.emit(StoreChanged{Err: err})
	}
	s.problem = err
}

// maxReplay is the cost of the entries between two snapshots; a reader replays those of twice as many at most. It is about half a second of one core.
const maxReplay = 2_500_000

// replayCost is what it costs to apply an entry again: one for each partition that placement looks at, and as much as a hundred of them for each command.
func replayCost(after *cluster.Value, e cluster.Entry, done cluster.Applied) int {
	cost := 100 * (1 + len(e.Commands))
	if done.Planned {
		cost += after.PartitionCount()
	}
	return cost
}

// saveSnapshot lets the first joined member write a snapshot now and then. Entries before the former one are freed, so that
// readers that are a little behind need not load it.
func (s *step) saveSnapshot() {
	even := s.even
	if s.even = (cluster.Value{}); s.phase != phaseMember || s.snapshot.busy || s.value.Applied()-s.snapAt < s.p.SnapshotEvery && s.cost < maxReplay {
		return
	}
	if even.Index() <= s.lastSnap { // none was passed since
		return
	}
	if first, ok := s.value.FirstJoined(); !ok || first != s.p.Join.Member {
		return
	}
	s.snapshot.busy = true
	s.emit(SaveSnapshot{Value: even, TrimTo: s.lastSnap})
	s.snapAt, s.lastSnap = even.Applied(), even.Index()
	s.cost -= s.evenCost
}
