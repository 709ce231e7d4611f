package sync

import (
	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/protocol/member"
)

// walk moves from phase to phase as far as the state allows.
func (s *step) walk() {
	for range 4 { // more phases than follow each other
		before := s.Is
		switch s.Is {
		case member.PhaseReading:
			if s.log.Whole() {
				s.Is = member.PhaseJoining
			}
		case member.PhaseJoining:
			s.awaitEpoch()
		case member.PhaseMember:
			s.stayMember()
		case member.PhaseRemoved:
			s.comeBack()
		default:
		}
		if s.Is == before {
			return
		}
	}
}

// present is this membership in the value.
func (s *step) present() (cluster.Member, bool) {
	m, ok := s.log.Value.Member(s.Member)
	return m, ok && s.group.id != "" && m.Heartbeat == heartbeatOf(s.group.id) && m.State == cluster.MemberJoined
}

// awaitEpoch looks for ourselves in the value.
func (s *step) awaitEpoch() {
	if m, ok := s.present(); ok {
		s.Is, s.Inc, s.passed = member.PhaseMember, m.Incarnation, 0
		s.told = told{}
		s.Emit(member.Joining{Incarnation: s.Inc})
		return
	}
	s.awaitName()
}

// namesLast is how many TTLs a member waits while epochs that know of it name another start under its name. One that is dead would be out of the group.
const namesLast = 3

// longest is how many times as long as usual a TTL becomes at most, so that namesLast usual TTLs are longer than any membership of a dead process lasts.
const longest = 2

// awaitName gives up when another process is in the group under our name, and stays. Time in which the group does not know us does not count; a change of
// the group ends nothing, for the next epoch may name the same one again.
func (s *step) awaitName() {
	m, ok := s.log.Value.Member(s.Member)
	switch {
	case !ok || m.State != cluster.MemberJoined || s.At >= s.Own.Until(s.Timing()):
		s.passed = 0
	case !s.seated():
	case s.passed == 0:
		s.passed = s.At
	case s.At.Sub(s.passed) >= namesLast*s.Params.TTL:
		s.Halt(s.log.Value.Index(), &protocol.NameTakenError{Member: s.Member})
	}
}

// stayMember notices that we were removed.
func (s *step) stayMember() {
	if m, ok := s.present(); !ok || m.Incarnation != s.Inc {
		s.remove("the cluster has removed it")
	}
}

func (s *step) remove(reason string) { s.Remove(s.log.Value.Index(), reason) }

// comeBack joins again, as a new member of the group, once nothing of the former life runs.
func (s *step) comeBack() {
	if s.group.id != "" {
		if s.group.need != needLeave && !s.group.busy {
			s.group.need, s.group.next = needLeave, s.At
		}
		return
	}
	if s.Idle() && !s.group.busy {
		s.Inc = 0
		s.work.Again()
		s.Is = member.PhaseJoining
	}
}

// settle ends the member when its leave stands in the log, or was not needed. The group is left by the caller's Close.
func (s *step) settle() {
	if s.Is != member.PhaseLeaving || !s.Idle() || s.log.Out.Pending != nil {
		return
	}
	if _, ok := s.present(); !ok {
		s.Gone()
	}
}
