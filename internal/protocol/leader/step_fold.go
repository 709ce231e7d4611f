package leader

import (
	"slices"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/fold"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/protocol"
)

// folding is what a member has of the log that folds it: the leader, stand-bys, and those whose tasks look at the whole
// value.
type folding struct {
	fold.Ledger
	answers []taken
}

// taken is a request that was taken, and what it did.
type taken struct {
	writer  cluster.WriterID
	seq     uint64
	index   cluster.Index
	results []cluster.Result
}

// maxTaken bounds the answers that are kept: what is older was answered by a former leader, or never will be with
// results.
const maxTaken = 512

// folds reports whether this member needs the whole value. Once it has begun it goes on.
func (s *step) folds() bool {
	return s.fold.Began || s.fold.Busy || s.p.Whole || s.rule.at != ruleNone || s.standsBy() || s.windows()
}

// standsBy reports whether this member is the leader, or one of the first to follow it.
func (s *step) standsBy() bool {
	return s.Is >= member.PhaseJoining && s.Is <= member.PhaseLeaving && s.Is != member.PhaseRemoved &&
		s.roster.known && s.rank() <= s.p.StandBys
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
func (s *step) before(p cluster.Member) bool {
	return p.ID != s.Member && p.State == cluster.MemberJoined && (s.Inc == 0 || p.Incarnation < s.Inc)
}

// windows reports whether a task runs here that looks at others of its job.
func (s *step) windows() bool {
	found := false
	s.slots.Each(func(_ string, h slot) bool {
		found = h.of.Job.Spec.Tasks[0].Spread == cluster.SpreadPartitioned
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
	if f.Look(&s.Core, false) {
		s.rule.later.asked = s.rule.later.seen
	}
}

// logged takes in an answer of the log, and does what a newer value leads to.
func (s *step) logged(ev member.Event) {
	was := s.fold.Value
	if err := s.fold.Take(&s.Core, s, ev); err != nil {
		s.Halt(s.head.Index, err)
		return
	}
	if s.fold.Value.Index() != was.Index() {
		s.moved(&was)
	}
	if r, ok := ev.(member.Read); ok && r.Err == "" {
		s.fold.Next = s.At.Add(s.rarely())
		if !r.Truncated {
			s.laterRead(cluster.Index(r.Page.Head))
		}
	}
}

// Took implements fold.Keeper: it keeps what the requests of an entry did, for the leader that answers them.
func (s *step) Took(a protocol.Applied) {
	for i, c := range a.Entry.Commands {
		t, ok := c.(cluster.TakeRequest)
		end := i + 1 + int(t.Count)
		if !ok || !a.Results[i].Accepted || end > len(a.Results) {
			continue
		}
		kept := append(slices.Clip(s.fold.answers), taken{t.Writer, t.Seq, a.Entry.Index, a.Results[i+1 : end]})
		s.fold.answers = kept[max(0, len(kept)-maxTaken):]
	}
}

// First implements fold.Keeper.
func (s *step) First() bool { return s.rule.at == ruleRuling }
