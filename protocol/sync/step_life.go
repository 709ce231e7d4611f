package sync

import (
	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/protocol/duty"
	"github.com/rota-run/rota/protocol/member"
)

func (s *step) self() cluster.MemberID { return s.p.Join.Member }

// walk moves from phase to phase as far as the state allows.
func (s *step) walk() {
	for range 4 { // more phases than follow each other
		before := s.phase
		switch s.phase {
		case phaseReading:
			if s.log.Began && s.value.Index() >= s.log.Ready {
				s.phase = phaseWaiting
			}
		case phaseWaiting:
			s.awaitEpoch()
		case phaseMember:
			s.stayMember()
		case phaseRemoved:
			s.comeBack()
		default:
		}
		if s.phase == before {
			return
		}
	}
}

// present is this membership in the value.
func (s *step) present() (cluster.Member, bool) {
	m, ok := s.value.Member(s.self())
	return m, ok && s.group.id != "" && m.Heartbeat == heartbeatOf(s.group.id) && m.State == cluster.MemberJoined
}

// awaitEpoch looks for ourselves in the value.
func (s *step) awaitEpoch() {
	if m, ok := s.present(); ok {
		s.phase, s.inc, s.passed = phaseMember, m.Incarnation, 0
		s.told = told{}
		s.emit(member.Joining{Incarnation: s.inc})
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
	m, ok := s.value.Member(s.self())
	switch {
	case !ok || m.State != cluster.MemberJoined || s.now >= s.group.lease.Until(s.p.timing()):
		s.passed = 0
	case !s.seated():
	case s.passed == 0:
		s.passed = s.now
	case s.now.Sub(s.passed) >= namesLast*s.p.TTL:
		s.halt(&protocol.NameTakenError{Member: s.self()})
	}
}

// stayMember notices that we were removed.
func (s *step) stayMember() {
	if m, ok := s.present(); !ok || m.Incarnation != s.inc {
		s.remove("the cluster has removed it")
	}
}

func (s *step) remove(reason string) {
	s.phase = phaseRemoved
	s.revoke(0)
	s.emit(member.Removing{Reason: reason})
}

// comeBack joins again, as a new member of the group, once nothing of the former life runs.
func (s *step) comeBack() {
	if s.group.id != "" {
		if s.group.need != needLeave && !s.group.busy {
			s.group.need, s.group.next = needLeave, s.now
		}
		return
	}
	if s.idle() && !s.group.busy {
		s.inc, s.changed, s.derived = 0, 0, duty.Derived{}
		s.phase = phaseWaiting
	}
}

// leave begins to leave gracefully.
func (s *step) leave(reason string) {
	s.stop = reason
	s.phase = phaseLeaving
	s.revoke(s.assigned.ValidUntil) // what runs stops because it leaves, not because it lost its lease
}

// settle ends the member when its leave stands in the log, or was not needed. The group is left by the caller's Close.
func (s *step) settle() {
	if s.phase != phaseLeaving || !s.idle() || s.out.Pending != nil {
		return
	}
	if _, ok := s.present(); !ok {
		s.phase = phaseGone
		s.emit(member.Left{})
	}
}
