package leader

import (
	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/protocol/fold"
	"github.com/rota-run/rota/protocol/member"
)

// folding is what a member has of the log that folds it: the leader, stand-bys, and those whose tasks look at the whole value.
type folding struct {
	fold.Reader
	value   *cluster.Value // never changed
	watched bool
	answers []taken
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
	return s.fold.Began || s.fold.Busy || s.p.Whole || s.rule.at != ruleNone || s.standsBy() || s.windows()
}

// standsBy reports whether this member is the leader, or one of the first to follow it.
func (s *step) standsBy() bool {
	return s.Is >= member.PhaseJoining && s.Is <= member.PhaseLeaving && s.Is != member.PhaseRemoved && s.roster.known && s.rank() <= s.p.StandBys
}

// rank is our place among those who may lead: the oldest members first.
func (s *step) rank() (n int) {
	for _, p := range s.roster.Members {
		if s.before(p) {
			n++
		}
	}
	return n
}

// before reports whether a member comes before us.
func (s *step) before(p Peer) bool {
	return p.Member != s.Member && p.State == cluster.MemberJoined && (s.Inc == 0 || p.Incarnation < s.Inc)
}

// windows reports whether a task runs here that looks at others of its job.
func (s *step) windows() bool {
	found := false
	s.slots.Each(func(_ string, h held) bool {
		found = h.Spec.Spread == cluster.SpreadPartitioned
		return !found
	})
	return found
}

func (s *step) readLog() {
	f := &s.fold
	f.Rest = s.rest
	if !s.folds() {
		return
	}
	if read, ok := f.Look(s.At, f.value.Index()); ok {
		s.rule.later.asked = s.rule.later.seen
		s.Emit(read)
	}
}

func (s *step) read(ev member.Read) {
	s.Answered(ev.Err)
	s.folded(func(v *cluster.Value) fold.Taken { return s.fold.Read(v, ev, s.logTurn(v)) })
	if ev.Err == "" && !ev.Truncated {
		s.laterRead(cluster.Index(ev.Page.Head))
	}
}

func (s *step) snapshotRead(ev member.SnapshotRead) {
	s.Answered(ev.Err)
	s.folded(func(v *cluster.Value) fold.Taken {
		t := s.fold.Loaded(v, ev, s.logTurn(v))
		if t.Moved {
			s.rule.out, _ = s.rule.out.Lost(v.Wrote(s.writer()))
		}
		return t
	})
}

func (s *step) logTurn(v *cluster.Value) fold.Turn {
	return fold.Turn{Now: s.At, Retry: s.At.Add(s.Poll), Next: s.At.Add(s.rarely()), Took: func(a protocol.Applied) {
		s.rule.out, _ = s.rule.out.Took(s.At, s.writer(), v, a)
		s.noteTaken(a.Entry, a.Results)
	}}
}

// folded changes a copy of the value, and does what that leads to.
func (s *step) folded(change func(*cluster.Value) fold.Taken) {
	was, now := s.fold.value, *s.fold.value
	t := change(&now)
	if t.Moved {
		s.fold.value = &now
		s.moved(was)
	}
	s.Emit(t.Effects(s.Value(), func() bool { return s.rule.at == ruleRuling })...)
	if t.Halt != nil {
		s.Halt(s.head.Index, t.Halt)
	}
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

// saveSnapshot lets the leader write a snapshot now and then.
func (s *step) saveSnapshot() {
	if save, ok := s.fold.Save(s.fold.value, fold.Saves{Every: s.SnapshotEvery, Writes: func() bool { return s.rule.at == ruleRuling }}); ok {
		s.Emit(save)
	}
}

// checkLog asks the store which history it has, while there is a doubt.
func (s *step) checkLog() {
	if check, ok := s.fold.Check(s.At, s.fold.value.Index()); ok {
		s.Emit(check)
	}
}

func (s *step) logChecked(ev member.LogChecked) {
	s.Answered(ev.Err)
	s.folded(func(v *cluster.Value) fold.Taken { return s.fold.Checked(ev, s.logTurn(v)) })
}
