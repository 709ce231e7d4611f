package leader

import (
	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/protocol/history"
	"github.com/rota-run/rota/store"
)

// folding is what a member has of the log that folds it: the leader, stand-bys, and those whose tasks look at the whole value.
type folding struct {
	look
	value    *cluster.Value  // never changed
	history  history.History // of what was applied
	busy     bool
	began    bool          // ready is known
	ready    cluster.Index // head that was seen at the start
	after    cluster.Index // of the read that is under way
	watched  bool
	answers  []taken
	saving   bool
	saved    uint64 // entries applied at the last snapshot
	lastSnap cluster.Index
}

// taken is a request that was taken, and what it did.
type taken struct {
	writer  cluster.WriterID
	seq     uint64
	index   cluster.Index
	results []cluster.Result
}

// maxTaken bounds the answers that are kept: what is older was answered by a former leader, or never will be with results.
const maxTaken = 512

// folds reports whether this member needs the whole value. Once it has begun it goes on.
func (s *step) folds() bool {
	return s.fold.began || s.fold.busy || s.p.Whole || s.rule.at != ruleNone || s.standsBy() || s.windows()
}

// standsBy reports whether this member is the leader, or one of the first to follow it.
func (s *step) standsBy() bool {
	return s.phase >= phaseJoin && s.phase <= phaseLeaving && s.phase != phaseRemoved && s.roster.known && s.rank() <= s.p.StandBys
}

// rank is our place among those who may lead: the oldest members first.
func (s *step) rank() int {
	n, me := 0, s.inc
	for _, p := range s.roster.Members {
		if p.Member != s.self() && p.State == cluster.MemberJoined && (me == 0 || p.Incarnation < me) {
			n++
		}
	}
	return n
}

// windows reports whether a task runs here that looks at others of its job.
func (s *step) windows() bool {
	found := false
	s.slots.each(func(_ string, h held) bool {
		found = h.Spec.Spread == cluster.SpreadPartitioned
		return !found
	})
	return found
}

func (s *step) readLog() {
	f := &s.fold
	if !s.folds() || f.busy || s.now < s.rest || !f.due(s.now) {
		return
	}
	f.busy, f.hint, f.after = true, false, f.value.Index()
	s.rule.later.asked = s.rule.later.seen
	s.emit(ReadLog{After: f.after})
}

func (s *step) read(ev Read) {
	f := &s.fold
	f.busy, f.next = false, s.now.Add(s.p.Poll)
	if s.answered(ev.Err); ev.Err != "" {
		return
	}
	if s.p.Hints {
		f.next = s.now.Add(s.rarely())
	}
	if ev.Truncated {
		f.busy = true
		s.emit(ReadSnapshot{})
		return
	}
	if cluster.Index(ev.Page.Head) < f.after { // what we appended since need not be there yet
		s.halt(&protocol.DivergedError{Index: f.after, Reason: "the log is shorter than what was read from it before"})
		return
	}
	if !f.began {
		f.began, f.ready = true, cluster.Index(ev.Page.Head)
	}
	s.apply(ev.Page.Records)
	s.laterRead(cluster.Index(ev.Page.Head))
	f.hint = f.hint || len(ev.Page.Records) > 0 && uint64(f.value.Index()) < ev.Page.Head
}

func (s *step) snapshotRead(ev SnapshotRead) {
	f := &s.fold
	f.busy, f.next = false, s.now.Add(s.p.Poll)
	switch s.answered(ev.Err); {
	case ev.Halt != nil:
		s.halt(ev.Halt)
	case ev.Err != "" || !ev.Found:
	case ev.Value.Index() > f.value.Index():
		was := f.value
		f.value, f.hint, f.saved = &ev.Value, true, ev.Value.Applied()
		f.history = f.history.From(history.At(*f.value))
		s.rule.out, _ = s.rule.out.Lost(f.value.Wrote(s.writer()))
		s.moved(was)
		s.emit(Applying{Value: s.Value()})
	}
}

// apply folds records into the value, those of them that are new.
func (s *step) apply(records []store.Record) {
	was := s.fold.value
	applied := make([]protocol.Applied, 0, len(records))
	var points []history.Point
	var foreign history.Foreign
	for _, r := range records {
		if cluster.Index(r.Index) <= s.fold.value.Index() {
			continue
		}
		e, ok, err := s.fold.value.Decode(cluster.Index(r.Index), r.Data)
		switch {
		case err != nil:
			s.halt(err)
			return
		case !ok:
			next := s.fold.value.Skip(cluster.Index(r.Index), r.Data)
			s.fold.value = &next
		default:
			a := s.applyEntry(e)
			applied = append(applied, a)
			foreign = foreign.Note(a, s.fold.history.Agrees(e, points))
		}
		points = append(points, history.At(*s.fold.value))
		if s.fold.value.Even() {
			s.even = s.fold.value
		}
	}
	s.fold.history = s.fold.history.With(points)
	if s.fold.value.Index() == was.Index() {
		return
	}
	s.moved(was)
	s.emit(Applying{Value: s.Value(), Entries: applied})
	s.suspect(foreign)
}

func (s *step) applyEntry(e cluster.Entry) protocol.Applied {
	next, done := s.fold.value.Apply(e)
	s.fold.value = &next
	switch {
	case done.Duplicate:
		s.rule.out, _ = s.rule.out.Lost(s.fold.value.Wrote(s.writer()))
	case e.Writer == s.writer() && s.rule.out.Waits(e.Seq):
		s.rule.out, _ = s.rule.out.Applied(done.Results)
	}
	s.noteTaken(e, done.Results)
	return protocol.Applied{Entry: e, Results: done.Results, Duplicate: done.Duplicate, Foreign: done.Foreign}
}

// noteTaken keeps what the requests of an entry did, for the leader that answers them.
func (s *step) noteTaken(e cluster.Entry, results []cluster.Result) {
	for i, c := range e.Commands {
		t, ok := c.(cluster.TakeRequest)
		end := i + 1 + int(t.Count)
		if !ok || !results[i].Accepted || end > len(results) {
			continue
		}
		kept := append(s.fold.answers[:len(s.fold.answers):len(s.fold.answers)], taken{t.Writer, t.Seq, e.Index, results[i+1 : end]})
		s.fold.answers = kept[max(0, len(kept)-maxTaken):]
	}
}

// saveSnapshot lets the leader write a snapshot now and then. Entries before the former one are freed, so that readers that are a little behind need not
// load it.
func (s *step) saveSnapshot() {
	f, even := &s.fold, s.even
	if even == nil || s.rule.at != ruleRuling || f.saving || f.value.Applied()-f.saved < s.p.SnapshotEvery || even.Index() <= f.lastSnap {
		return
	}
	f.saving = true
	s.emit(SaveSnapshot{Value: *even, TrimTo: f.lastSnap})
	f.saved, f.lastSnap = even.Applied(), even.Index()
}
