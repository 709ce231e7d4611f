package sync

import (
	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/duty"
	"github.com/rota-run/rota/internal/protocol/fold"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/protocol"
)

// State is all that one member knows. It is a value: Step returns another one and shares slices that it does not change.
type State struct {
	member.Core
	log     fold.Ledger
	work    duty.Work
	epochAt protocol.Instant // when the present epoch was applied
	passed  protocol.Instant

	group    group
	shares   []cluster.Share // as of sharedAt
	sharedAt cluster.Index
	told     told
	rest     protocol.Instant // something of ours was refused: no epoch and no share before
}

// NewState is a member that has just started.
func NewState(p member.Params) State {
	p.Member = p.Join.Member
	return State{Core: member.NewCore(p, member.Resume)}
}

// Step takes one event in. It is a pure function: the same state and event give the same state and effects.
func Step(s State, ev member.Event) (State, []member.Effect) {
	st := &step{s}
	fx := st.Step(st, ev)
	return st.State, fx
}

// step is one call of Step, on a state of its own.
type step struct{ State }

// Index implements member.Machine.
func (s *step) Index() cluster.Index { return s.log.Value.Index() }

// Take implements member.Machine.
func (s *step) Take(ev member.Event) {
	was, _ := s.log.Value.Epoch()
	switch ev := ev.(type) {
	case member.Hinted:
		s.log.Hint = true
	case member.Read, member.SnapshotRead, member.Appended, member.LogChecked, member.SnapshotSaved, member.Proposed:
		s.logged(ev)
	default:
		s.heardGroup(ev)
	}
	if now, _ := s.log.Value.Epoch(); now != was {
		s.epochAt = s.At
	}
}

// Advance implements member.Machine.
func (s *step) Advance() {
	if read, ok := s.log.Look(s.At); ok {
		s.Emit(read)
	}
	s.walk()
	s.keepGroup()
	s.log.Check(&s.Core)
	if !s.log.History.Doubted { // else nothing begins, and nothing is said, before the store has said which history it has
		if s.Is == member.PhaseMember {
			s.work.Assign(&s.Core, s.log.Value)
		}
		s.propose()
		s.log.Save(&s.Core, 0, s.writes)
	}
	s.settle()
	s.setWake()
}

// setWake asks to be woken at the next instant at which something is due.
func (s *step) setWake() {
	w := s.Waking()
	s.log.Due(&w)
	w.Due(s.group.busy, s.group.next)
	s.WakeAt(w)
}
