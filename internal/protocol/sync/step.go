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

// Step takes one event in. It changes the state and nothing else: the same state and event give the same state and effects.
func Step(s *State, ev member.Event) []member.Effect {
	if s.Over() {
		return nil
	}
	st := &step{s}
	st.Begin(ev)
	was, _ := s.log.Value.Epoch()
	st.take(ev)
	if now, _ := st.log.Value.Epoch(); now != was {
		st.epochAt = st.At
	}
	if st.Is != member.PhaseHalted {
		st.advance()
	}
	return st.End()
}

// step is one call of Step.
type step struct{ *State }

func (s *step) take(ev member.Event) {
	switch ev := ev.(type) {
	case member.Woken:
	case member.Hinted:
		s.log.Hint = true
	case member.Read, member.SnapshotRead, member.Appended, member.LogChecked, member.SnapshotSaved, member.Proposed:
		s.logged(ev)
	case member.Reported:
		s.Reports, s.Reported, s.Silent = ev.Reports, ev.Version, false
	case member.Closed:
		s.Halt(s.log.Value.Index(), ev.Err)
	case member.Stop:
		s.Leave(s.log.Value.Index(), ev.Reason, false)
	default:
		s.heardGroup(ev)
	}
}

// advance does what the state asks for. It is level-triggered: it looks at the state alone, not at what led to it.
func (s *step) advance() {
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
