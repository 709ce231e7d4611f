package sync

import (
	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/protocol"
)

// walk moves from phase to phase as far as the value and the group allow.
func (s *step) walk() {
	was := s.Is
	s.Walk(s)
	switch {
	case s.Is == member.PhaseMember && was != s.Is:
		s.passed, s.told = 0, told{}
	case s.Is == member.PhaseJoining:
		s.awaitName()
	case s.Is == member.PhaseRemoved && s.group.id != "" && s.group.need != needLeave && !s.group.busy:
		s.group.need, s.group.next = needLeave, s.At
	}
}

// Stand implements member.Walker. It joins again as a new member of the group.
func (s *step) Stand() member.Stand {
	m, in := s.present()
	return member.Stand{
		Index: s.log.Value.Index(), Inc: m.Incarnation, Ready: s.log.Whole(), In: in && s.Is == member.PhaseJoining, Joined: in,
		Free: s.Is != member.PhaseRemoved || s.group.id == "" && !s.group.busy, Out: !in || m.Incarnation != s.Inc,
	}
}

// Again implements member.Walker.
func (s *step) Again() { s.work.Again() }

// present is this membership in the value.
func (s *step) present() (cluster.Member, bool) {
	m, ok := s.log.Value.Member(s.Member)
	return m, ok && s.group.id != "" && m.Heartbeat == heartbeatOf(s.group.id) && m.State == cluster.MemberJoined
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

// settle ends the member when its leave stands in the log, or was not needed. The group is left by the caller's Close.
func (s *step) settle() {
	if _, in := s.present(); s.Is == member.PhaseLeaving && s.Idle() && s.log.Out.Pending == nil && !in {
		s.Gone()
	}
}
