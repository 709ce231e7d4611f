package leader

import (
	"strings"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/protocol/duty"
	"github.com/rota-run/rota/protocol/fold"
	"github.com/rota-run/rota/protocol/member"
	"github.com/rota-run/rota/protocol/outbox"
)

// ruling is how far a leader is.
type ruling uint8

const (
	ruleNone     ruling = iota
	ruleClaimed         // the document names us: our lead is to be entered in the log
	ruleAdopting        // it was: what is there is being read, before anything is decided
	ruleRuling
)

// rule is what a leader knows. It begins empty with each term, but for the outbox.
type rule struct {
	at      ruling
	term    uint64
	out     outbox.Box
	boxes   boxes
	plans   plans
	heads   tree[headAt]
	roster  rosterAt
	docs    tree[known]  // assignments as they are in the store, by key
	dirty   tree[target] // assignments that may have to be written, by member and task
	offers  []offered    // oldest first
	holds   duty.Holds
	listed  map[string]bool // what was read to adopt it; never changed
	patrol  protocol.Instant
	patrols cluster.MemberID
	audit   audit
	later   laterTerm
}

// adopted are the prefixes that a new leader reads before it decides anything.
var adopted = [...]string{MailboxPrefix, AssignPrefix, headPrefix, PlanPrefix}

// reign does what a leader does.
func (s *step) reign() {
	if s.rule.at == ruleNone {
		return
	}
	if l, _ := s.fold.value.Leader(); s.rule.at > ruleClaimed && (l.Writer != s.writer() || l.Term != s.rule.term) {
		s.abdicate() // another one leads by the log
		s.rule.at = ruleClaimed
	}
	if !s.Whole() {
		return
	}
	if s.rule.at == ruleClaimed {
		s.claimTerm()
	}
	if s.rule.at == ruleAdopting {
		s.adopt()
	}
	if s.rule.at == ruleRuling {
		s.look()
		s.decide(s.wanted)
		if !s.rule.later.seen {
			s.project()
		}
		s.auditSlots()
	}
}

// claimTerm enters our lead in the log.
func (s *step) claimTerm() {
	if l, _ := s.fold.value.Leader(); s.rule.term != 0 && l.Writer == s.writer() && l.Term == s.rule.term {
		s.rule.at = ruleAdopting
		return
	}
	s.decide(func() []cluster.Command {
		l, _ := s.fold.value.Leader()
		s.rule.term = l.Term + 1
		return []cluster.Command{cluster.Lead{Member: s.Member, Term: s.rule.term, OfferMS: s.p.Offer.Milliseconds()}}
	})
}

// decide appends what is wanted, when nothing is under way.
func (s *step) decide(wanted func() []cluster.Command) {
	s.rule.out, _ = s.rule.out.Passed(s.fold.value.Index(), s.At)
	if s.rule.out.Rests(s.At) {
		return
	}
	if s.rule.out.Pending == nil {
		s.rule.out = s.rule.out.Compose(s.At, s.writer(), *s.fold.value, wanted(), true)
	}
	if s.rule.out.Again(s.fold.value.Index()) { // unknown, or acknowledged and yet not in the log
		s.rule.out = s.rule.out.Sent()
		s.Emit(member.Append{Entry: s.rule.out.Pending.Entry})
	}
}

func (s *step) appended(ev member.Appended) {
	s.rule.out = s.rule.out.Returned()
	s.Appended(ev)
	if !s.rule.out.Waits(ev.Seq) {
		return // it was read in the log before the answer came
	}
	if ev.Outcome == outbox.Done {
		s.acknowledged(ev)
		return
	}
	s.fold.Hint = s.fold.Hint || ev.Outcome == outbox.Unknown
	s.rule.out, _ = s.rule.out.Failed(ev.Outcome, ev.Err, s.At.Add(s.Poll))
}

// acknowledged handles the index of our entry.
func (s *step) acknowledged(ev member.Appended) {
	s.folded(func(v *cluster.Value) fold.Taken {
		t, _ := s.fold.Acknowledged(v, ev, s.logTurn(v))
		if s.rule.out.Waits(ev.Seq) { // it is to be read yet, or nobody can read it
			s.rule.out = s.rule.out.At(ev.Index)
		}
		return t
	})
}

// adopt reads what is there: members, assignments, requests. Only then is anything decided.
func (s *step) adopt() {
	done := s.rule.roster.known
	if !done {
		s.get(RosterKey)
	}
	for _, prefix := range adopted {
		if !s.rule.listed[prefix] {
			done = false
			s.list(prefix)
		}
	}
	if !done {
		return
	}
	s.rule.at = ruleRuling
	s.compare()
	s.Emit(member.Applying{Value: s.Value()})
}

// noteListed notes that a prefix was read.
func (s *step) noteListed(prefix string) {
	next := map[string]bool{prefix: true}
	for _, p := range adopted {
		next[p] = next[p] || s.rule.listed[p]
	}
	s.rule.listed = next
}

// look reads again what members have written.
func (s *step) look() {
	if s.rule.boxes.due(s.At) && s.list(MailboxPrefix) {
		s.rule.boxes.look = s.again(s.rule.boxes.look, s.boxesEvery())
	}
	if s.rule.plans.due(s.At) && s.list(PlanPrefix) {
		s.rule.plans.look = look{next: s.At.Add(s.rarely())}
	}
}

// moved finds what an advance of the value changes in what members are shown.
func (s *step) moved(was *cluster.Value) {
	if s.rule.at != ruleRuling {
		return
	}
	now := s.fold.value
	for _, r := range cluster.Changes(*was, *now) {
		switch {
		case r.Partition != "":
			before, _ := was.Partition(r.Partition)
			after, _ := now.Partition(r.Partition)
			s.touch(before)
			s.touch(after)
			if after.Offered && (!before.Offered || before.Token != after.Token) {
				s.rule.offers = append(s.rule.offers[:len(s.rule.offers):len(s.rule.offers)], offered{after.ID, after.Token, s.At})
			}
		case r.Job != "":
			for p := range now.PartitionsOf(r.Job) {
				s.touch(p)
			}
		default:
			s.rule.roster.stale = true
			s.touchHead(r.Member)
			s.doubtAdmitted(was, r.Member)
		}
	}
	s.rule.roster.stale = s.rule.roster.stale || now.Settings() != was.Settings()
}

// doubtAdmitted has the heartbeat read under which a member was admitted or confirmed: it may have gone before that was entered, and its mailbox with it, and
// no hint tells of that again.
func (s *step) doubtAdmitted(was *cluster.Value, id cluster.MemberID) {
	before, _ := was.Member(id)
	if m, in := s.fold.value.Member(id); in && m.Heartbeat != before.Heartbeat && m.State != cluster.MemberHeld {
		s.heartbeats = s.heartbeats.With(s.heartbeats.Of(m.Heartbeat).NotInList())
	}
}

// touch marks the assignments of a partition: they are compared with the value, and written where they differ.
func (s *step) touch(p cluster.Partition) {
	for _, m := range [...]cluster.MemberID{p.Owner, p.Next} {
		if m != "" {
			s.rule.dirty.set(string(m)+"\x00"+string(p.ID), target{m, p.ID})
		}
	}
}

// clean reports whether all assignments of a member are written.
func (s *step) clean(m cluster.MemberID) bool {
	prefix, some := string(m)+"\x00", false
	s.rule.dirty.From(prefix, func(k string, _ target) bool {
		some = strings.HasPrefix(k, prefix)
		return false
	})
	return !some
}
