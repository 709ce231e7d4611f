package leader

import (
	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/store"
)

// target is one assignment.
type target struct {
	member cluster.MemberID
	task   cluster.PartitionID
}

// known is an assignment as it is in the store: its version, and what tells whether it is as it should be.
type known struct {
	version store.Version
	stamp   stamp
	unsure  bool // a write is under way, its outcome is unknown, or it conflicted: read it
	target
	index cluster.Index // that it names
}

type stamp struct {
	state   slotState
	token   cluster.Token
	attempt int64
	since   cluster.Index
	share   int64
	shares  int64
}

func (h slotDoc) stamp() stamp { return stamp{h.State, h.Token, h.Attempt, h.Since, h.Share, h.Shares} }

// headAt is the head of a member as it is in the store, and what is to be said next.
type headAt struct {
	headDoc
	version store.Version
	unsure  bool
	stale   bool
	pending []cluster.PartitionID // assignments that were written since
}

// rosterAt is the roster as it is in the store.
type rosterAt struct {
	rosterDoc
	version store.Version
	known   bool
	stale   bool
}

// writesAtOnce is how many documents are written at a time.
const writesAtOnce = 64

// project brings the documents in line with the value.
func (s *step) project() {
	s.projectSlots()
	s.projectHeads()
	s.projectRoster()
	s.answerPlans()
}

func (s *step) projectSlots() {
	s.rule.dirty.Each(func(k string, t target) bool {
		if s.projectSlot(t) {
			s.rule.dirty.remove(k)
		}
		return len(s.busy) < writesAtOnce
	})
}

// projectSlot writes one assignment, and reports whether it is as it should be. A new one begins as an offer, whatever the value says: so a late write of
// a former leader, to a document that has been removed since, starts nothing.
func (s *step) projectSlot(t target) bool {
	key := slotKey(t.member, t.task)
	have, there := s.rule.docs.Get(key)
	want, ok := s.slotOf(t)
	switch {
	case s.isBusy(key):
		return false
	case have.unsure:
		s.get(key)
	case !ok && !there:
		return true
	case !ok:
		s.drop(key, have.version)
	case there && have.stamp == want.stamp():
		return true
	default:
		if !there {
			want.State = slotAcking
		}
		if s.put(Put{Key: key, Doc: want, Version: have.version}) {
			s.rule.docs.set(key, known{version: have.version, stamp: want.stamp(), unsure: true, target: t, index: want.Index})
		}
	}
	return false
}

// slotOf is the assignment of a task to a member, as the value has it.
func (s *step) slotOf(t target) (slotDoc, bool) {
	v := s.fold.Value
	p, ok := v.Partition(t.task)
	if !ok {
		return slotDoc{}, false
	}
	state, token := stateOf(v, t.member, p)
	if m, in := v.Member(t.member); !in || m.State == cluster.MemberHeld || !state.assigned() {
		return slotDoc{}, false
	}
	d := slotDoc{
		Format: docFormat, Member: t.member, Task: p.ID, State: state, Token: token, Attempt: p.Attempts, Index: v.Index(), Term: s.rule.term,
		Parents: p.Parents, Listed: p.ListedBy, Input: p.Input, Share: p.Index, Shares: p.Count, Number: p.Slot, From: p.From, Cause: p.Cause,
		Spec: &cluster.TaskSpec{Type: "gone"}, // its job has ended, and it has yet to stop
	}
	if l, _ := v.Leader(); state == slotAcking {
		d.OfferMS = l.OfferMS
	}
	if state == slotTaking {
		d.From = p.Owner
	}
	id, task, _ := p.ID.Split()
	if j, ok := v.Job(id); ok {
		if spec, ok := j.Task(task); ok {
			d.Spec, d.Since, d.Source = spec, j.SpecIndex, j.Spec.Source
		}
	}
	return d, true
}
