package leader

import (
	"slices"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/elect"
	"github.com/rota-run/rota/internal/protocol/fold"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/protocol"
)

func (s *step) holderGot(ev Got) {
	seen := elect.Seen{Version: ev.Doc.Version}
	if h, ok := ev.Doc.Value.(holderDoc); ok {
		seen.Heartbeat, s.vote.holder = h.Heartbeat, h
	}
	s.vote.Election = s.vote.Read(seen, s.At)
}

// mayLead reports whether this member takes part in elections.
func (s *step) mayLead() bool {
	return (s.Is >= member.PhaseJoining && s.Is <= member.PhaseConfirming || s.lingers()) && s.Own.Held &&
		s.roster.known
}

// lingers reports whether this member waits for a leader to enter that it leaves. Where all leave at once the last of
// them has to do that itself.
func (s *step) lingers() bool { return s.Is == member.PhaseLeaving && s.Inc != 0 && !s.out() }

// elect looks who leads, and tries to where nobody does.
func (s *step) elect() {
	if s.vote.due(s.At) {
		s.vote.look = look{next: s.At.Add(s.rarely())}
		s.vote.Election = s.vote.Stale()
	}
	move := s.vote.Next(s.Own.Key, s.turn(), s.Silence(s.vote.Election.Holder), s.At)
	if move == elect.Probe && s.mayFollow() && s.Late(s.vote.Election.Holder) {
		for heartbeat := range s.inFront { // they may have died, and nobody has removed them
			s.lookAt(s.heartbeats.Of(heartbeat))
		}
		if s.deputy() {
			move = elect.Remove
		}
	}
	if s.rule.at != ruleNone && move != elect.Lead && (move != elect.Look || s.vote.Seen.Heartbeat != s.Own.Key) {
		s.rule = rule{} // the document does not name us any more
	}
	if move == elect.Look {
		if !s.vote.Known || s.At >= s.vote.turn { // what cannot be read is looked at now and then
			s.vote.turn = s.At.Add(s.Poll)
			s.get(LeaderKey)
		}
		return
	}
	s.act(move)
}

// act does what an election asks for.
func (s *step) act(move elect.Move) {
	leaves := s.Is == member.PhaseLeaving && s.rule.at != ruleNone
	if !s.mayLead() && !leaves {
		return
	}
	former := s.vote.Seen.Version != "" && s.Ours(s.vote.Seen.Heartbeat) && move != elect.Lead
	switch {
	case former || move == elect.Remove:
		s.drop(LeaderKey, s.vote.Seen.Version)
	case move == elect.Probe && s.At >= s.nextProbe():
		s.probe(s.vote.Holder.Key, s.At)
	case move == elect.Claim && !leaves:
		s.put(Put{Key: LeaderKey, Doc: holderDoc{Format: docFormat, Member: s.Member, Heartbeat: s.Own.Key,
			Term: s.vote.holder.Term + 1}, Life: s.Life + 1})
	case move == elect.Lead && s.rule.at == ruleNone:
		s.rule.at = ruleClaimed
	}
}

// deputy reports whether this member follows the leader. It does so when that is late, before its session has ended:
// else all that dies meanwhile waits for that end. The former leader keeps what it runs, and what it still writes is
// refused by its term.
func (s *step) deputy() bool { return s.ahead() == 0 && s.mayFollow() }

// mayFollow reports whether this member is the deputy, or becomes it when those before it have died.
func (s *step) mayFollow() bool {
	return s.mayLead() && s.rule.at == ruleNone && s.vote.Seen.Heartbeat != s.Own.Key
}

// inFront are those before us but for the last leader, 8 at most.
func (s *step) inFront(yield func(heartbeat string) bool) {
	n := 0
	for _, p := range s.roster.Members {
		if s.before(p) && p.Heartbeat != s.vote.holder.Heartbeat {
			if n++; n > 8 || !yield(p.Heartbeat) {
				return
			}
		}
	}
}

// ahead is how many go first: those in front, and all that stay.
func (s *step) ahead() (n int) {
	for range s.inFront {
		n++
	}
	if s.lingers() {
		n += 2
	}
	return n
}

// turn is how long we let them.
func (s *step) turn() time.Duration {
	if s.Hints.Vanish { // all hear of it at once: who comes first has claimed by then, and of two claims the store takes one
		return time.Duration(s.ahead()) * s.Poll / 4
	}
	return time.Duration(s.ahead()) * 2 * s.Poll
}

// nextProbe is when the leader's heartbeat is looked at again: by the deputy when it is due. Where it vanishes by
// itself a hint comes with that. The stand-bys may have died with the leader, and the more members there are the more
// seldom the others look: so a member that waits for the leader looks as a stand-by does, and does not keep to a look
// that was planned before.
func (s *step) nextProbe() protocol.Instant {
	o := s.vote.Election.Holder
	waits := s.Is == member.PhaseJoining || s.Is == member.PhaseConfirming || s.Is == member.PhaseLeaving ||
		s.asks.Pending != nil
	if o.Known && !waits && !s.deputy() && s.At >= s.vote.wary && (s.Hints.Vanish || s.rank() > s.p.StandBys) {
		return o.Looked.Add(s.rarely())
	}
	return s.nextLook(o)
}

// resign gives up the lead before we are gone. It reports whether that is done.
func (s *step) resign() bool {
	if s.vote.Seen.Version != "" && s.vote.Seen.Heartbeat == s.Own.Key {
		s.drop(LeaderKey, s.vote.Seen.Version)
		return false
	}
	return s.vote.Known
}

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

// before reports whether a member comes before us. One that we have found dead does not.
func (s *step) before(p cluster.Member) bool {
	return p.ID != s.Member && p.State == cluster.MemberJoined && (s.Inc == 0 || p.Incarnation < s.Inc) &&
		!s.heartbeats.Of(p.Heartbeat).Gone()
}

// windows reports whether a task runs here that looks at others of its job.
func (s *step) windows() bool {
	for _, h := range s.slots.Each {
		if h.of.Job.Spec.Tasks[0].Spread == cluster.SpreadPartitioned {
			return true
		}
	}
	return false
}

func (s *step) readLog() {
	s.fold.Rest = s.rest
	if s.folds() && s.fold.Look(&s.Core, false) {
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
		if !r.Truncated && s.rule.later.asked && s.fold.Value.Index() >= cluster.Index(r.Page.Head) {
			s.rule.later = laterTerm{} // the log was read to a head that is newer than the doubt
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
