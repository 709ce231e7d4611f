package leader

import (
	"slices"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/duty"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/protocol"
)

// ruling is how far a leader is.
type ruling uint8

const (
	ruleNone     ruling = iota
	ruleClaimed         // the document names us: our lead is to be entered in the log
	ruleAdopting        // it was: what is there is being read, before anything is decided
	ruleRuling
)

// rule is what a leader knows. It begins empty with each term.
type rule struct {
	at            ruling
	term          uint64
	boxes         boxes
	plans         plans
	docs          tree[kept]   // what the leader writes, as it is in the store, by key
	dirty         tree[target] // what may have to be written, in order
	offers        []offered    // oldest first
	holds         duty.Holds
	asked, listed [len(adopted)]bool // what was asked for in this term, and read, to adopt it
	patrol        protocol.Instant
	patrols       cluster.MemberID
	audit         audit
	later         laterTerm
}

// adopted are the prefixes that a new leader reads before it decides anything.
var adopted = [...]string{MailboxPrefix, AssignPrefix, HeadPrefix, rosterPrefix, planPrefix}

// reign does what a leader does.
func (s *step) reign() {
	if s.rule.at == ruleNone {
		return
	}
	if l, _ := s.fold.Value.Leader(); s.rule.at > ruleClaimed && (l.Writer != s.Writer() || l.Term != s.rule.term) {
		s.rule = rule{at: ruleClaimed} // another one leads by the log, and is named by now if it is a deputy
		s.vote.Election = s.vote.Stale()
	}
	if !s.Whole() {
		return
	}
	if s.rule.at == ruleClaimed && s.vote.Known {
		s.claimTerm()
	}
	if s.rule.at == ruleAdopting {
		s.adopt()
	}
	if s.rule.at == ruleRuling {
		s.look()
		s.fold.Append(&s.Core, true, s.wanted)
		if !s.rule.later.seen {
			s.project()
		}
		s.auditSlots()
	}
}

// claimTerm enters our lead in the log.
func (s *step) claimTerm() {
	if l, _ := s.fold.Value.Leader(); s.rule.term != 0 && l.Writer == s.Writer() && l.Term == s.rule.term {
		s.rule.at = ruleAdopting
		return
	}
	s.fold.Append(&s.Core, true, func() []cluster.Command {
		l, _ := s.fold.Value.Leader()
		s.rule.term = l.Term + 1
		return []cluster.Command{cluster.Lead{Member: s.Member, Term: s.rule.term, OfferMS: s.p.Offer.Milliseconds()}}
	})
}

// adopt reads what is there: members, assignments, requests. Only then is anything decided.
func (s *step) adopt() {
	done := true
	for i, prefix := range adopted {
		if !s.rule.listed[i] {
			done = false
			s.rule.asked[i] = s.list(prefix) || s.rule.asked[i]
		}
	}
	if !done {
		return
	}
	s.rule.at = ruleRuling
	s.compare()
	s.Emit(member.Applying{Value: s.Value()})
}

// look reads again what members have written.
func (s *step) look() {
	every := s.Poll // of the mailboxes, without a hint
	if s.Hints.Docs {
		every = max(s.rarely(), 2*s.Params.TTL)
	}
	if s.rule.boxes.due(s.At) && s.list(MailboxPrefix) {
		s.rule.boxes.look = s.again(s.rule.boxes.look, every)
	}
	if s.rule.plans.due(s.At) && s.list(planPrefix) {
		s.rule.plans.look = look{next: s.At.Add(s.rarely())}
	}
}

// moved finds what an advance of the value changes in what members are shown.
func (s *step) moved(was *cluster.Value) {
	if s.rule.at != ruleRuling {
		return
	}
	now, offers := &s.fold.Value, slices.Clip(s.rule.offers)
	for _, r := range cluster.Changes(*was, *now) {
		switch {
		case r.Partition != "":
			before, _ := was.Partition(r.Partition)
			after, _ := now.Partition(r.Partition)
			s.touch(before)
			s.touch(after)
			if after.Offered && (!before.Offered || before.Token != after.Token) {
				offers = append(offers, offered{after.ID, after.Token, s.At})
			}
		case r.Job != "":
			for p := range now.PartitionsOf(r.Job) {
				s.touch(p)
			}
		default:
			s.markDirty(target{})
			s.markDirty(target{member: r.Member})
			s.doubtAdmitted(was, r.Member)
		}
	}
	if s.rule.offers = offers; now.Settings() != was.Settings() {
		s.markDirty(target{})
	}
}

// compare marks all that a former leader may have left undone.
func (s *step) compare() {
	now, offers := &s.fold.Value, slices.Clip(s.rule.offers)
	for p := range now.Partitions() {
		s.touch(p)
		if p.Offered {
			offers = append(offers, offered{p.ID, p.Token, s.At})
		}
	}
	s.rule.offers = offers
	for m := range now.Members() {
		s.markDirty(target{member: m.ID})
	}
	s.markDirty(target{})
}

// doubtAdmitted has the heartbeat read under which a member was admitted or confirmed: it may have gone before that was
// entered, and its mailbox with it, and no hint tells of that again.
func (s *step) doubtAdmitted(was *cluster.Value, id cluster.MemberID) {
	before, _ := was.Member(id)
	if m, in := s.fold.Value.Member(id); in && m.Heartbeat != before.Heartbeat && m.State != cluster.MemberHeld {
		s.heartbeats = s.heartbeats.With(s.heartbeats.Of(m.Heartbeat).NotInList())
	}
}

// touch marks the assignments of a partition: they are compared with the value, and written where they differ.
func (s *step) touch(p cluster.Partition) {
	for _, m := range [...]cluster.MemberID{p.Owner, p.Next} {
		if m != "" {
			s.markDirty(target{m, p.ID})
		}
	}
}

// laterTerm is set by a document that names a later term than ours. Another member may lead by now, and what it has
// written must not be undone from an older value: nothing is projected before the log, read after that, shows no other
// leader. A document that was written by hand ends there too.
type laterTerm struct {
	seen  bool
	asked bool // the read of the log that is under way began afterwards
}

// noteTerm looks whether a document names a later term than ours.
func (s *step) noteTerm(d Doc) {
	var term uint64
	switch v := d.Value.(type) {
	case slotDoc:
		term = v.Term
	case headDoc:
		term = v.Term
	case rosterDoc:
		term = v.Term
	}
	if term > s.rule.term {
		s.rule.later = laterTerm{seen: true}
		s.fold.Hint = true
	}
}

// writesAtOnce is how many documents are written at a time.
const writesAtOnce = 64

// project brings the documents in line with the value: of a member its assignments first, and then its head, which says
// that they count.
func (s *step) project() {
	for k, t := range s.rule.dirty.Each {
		if !s.isBusy(t.key()) { // else its document, which may be long, is not made in vain
			if doc, ready := s.shown(t); ready && s.bring(t, doc) {
				s.rule.dirty.remove(k)
			}
		}
		if len(s.busy) >= writesAtOnce {
			break
		}
	}
	s.answerPlans()
}

// shown is the document of a target as the value has it, nil for none. Not ready: something else must be written before
// it.
func (s *step) shown(t target) (doc any, ready bool) {
	switch {
	case t.task != "":
		if _, in := s.taskOf(t); !in {
			return nil, true
		}
		return s.slotOf(t), true
	case t.member != "":
		return s.headOf(t)
	}
	return s.rosterOf(), true
}

// taskOf is a task of a member as its head tells of it, without the place of its assignment; false where the member
// does not have it.
func (s *step) taskOf(t target) (taskDoc, bool) {
	p, _ := s.fold.Value.Partition(t.task)
	state, token := stateOf(t.member, p)
	m, in := s.fold.Value.Member(t.member)
	return taskDoc{Task: t.task, Token: token, State: state, Attempt: p.Attempts}, in &&
		m.State != cluster.MemberHeld && state.assigned()
}

// slotOf is the assignment of a task to a member.
func (s *step) slotOf(t target) slotDoc {
	v := s.fold.Value
	p, _ := v.Partition(t.task)
	_, token := stateOf(t.member, p)
	p.Message, p.Deaths, p.Step, p.Cursor, p.ChangedMS = "", 0, 0, nil, 0 // they change without it
	id, task, _ := p.ID.Split()
	j, spec := cluster.Job{ID: id}, cluster.JobSpec{Tasks: []cluster.TaskSpec{{Name: task, Type: "gone"}}} // it has ended, and its task has yet to stop
	if of, ok := v.Job(id); ok {
		if t, ok := of.Task(task); ok {
			j.SpecIndex, spec.Source, spec.Tasks[0] = of.SpecIndex, of.Spec.Source, *t
		}
	}
	j.Spec = &spec
	return slotDoc{Format: docFormat, Member: t.member, Task: t.task, Token: token, Index: v.Index(), Term: s.rule.term,
		Partition: p, Job: j}
}

// headOf is the head of a member. One that is created has offers only, whatever the value says: so a late write of a
// former leader, to a document that was removed since, starts nothing. It waits for the assignments of the member, but
// not for all of many.
func (s *step) headOf(t target) (doc any, ready bool) {
	v := s.fold.Value
	m, in := v.Member(t.member)
	if !in || m.State == cluster.MemberHeld {
		return nil, true
	}
	at, there := s.rule.docs.Get(t.key())
	have, _ := at.is.(headDoc)
	for range s.rule.dirty.below(target{member: t.member}.slots()) { // they are not all written
		if at.told < writesAtOnce+len(have.Tasks)/8 {
			return nil, false
		}
		break
	}
	want := headDoc{
		Format: docFormat, Member: m.ID, Incarnation: m.Incarnation, Heartbeat: m.Heartbeat, State: m.State.String(),
		Revoked: m.Revoked, Term: s.rule.term,
		Index: max(v.Index(), have.Index), // whatever was written there by hand: members believe no lower one
	}
	if m.Draining {
		want.State = "draining"
	}
	for _, k := range s.rule.docs.below(folder(m.ID)) {
		e, has := s.taskOf(k.target)
		of, _ := k.is.(stamp)
		switch {
		case !has || e.Token != of.token || k.unsure && k.version == "":
			continue
		case k.unsure: // it is being written again: it may be either
			return nil, false
		case !there:
			e.State = slotAcking
		}
		e.Index = k.index
		want.Tasks = append(want.Tasks, e)
	}
	return want, true
}
