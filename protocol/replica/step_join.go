package replica

import (
	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol/heartbeat"
	"github.com/rota-run/rota/protocol/member"
)

// walk moves from phase to phase as far as the state allows.
func (s *step) walk() {
	for range 8 { // more phases than there are
		before := s.Is
		s.walkOne()
		if s.Is == before {
			return
		}
	}
}

func (s *step) walkOne() {
	switch s.Is {
	case member.PhaseReading:
		if s.log.Whole() {
			s.Is = member.PhaseNaming
		}
	case member.PhaseNaming:
		s.claimName()
	case member.PhaseBeginning:
		if s.Own.Held {
			s.Is = member.PhaseJoining
		}
	case member.PhaseJoining:
		s.awaitJoin()
	case member.PhaseMember:
		s.stayMember()
	case member.PhaseConfirming:
		s.awaitConfirm()
	case member.PhaseRemoved:
		s.comeBack()
	}
}

// claimName makes sure that no live process is in the cluster under our name: it waits until that one's heartbeat is gone or has been
// silent, and gives up when it sees it renewed.
func (s *step) claimName() {
	m, ok := s.log.Value.Member(s.Member)
	if !ok || m.State == cluster.MemberHeld {
		s.claim = heartbeat.Observation{}
		s.Is = member.PhaseBeginning
		return
	}
	if s.claim.Key != m.Heartbeat {
		s.claim = heartbeat.Observation{Key: m.Heartbeat}
	}
	if s.Ours(m.Heartbeat) || s.Dead(s.claim) {
		s.Is = member.PhaseBeginning
	}
}

// awaitJoin looks for our prepare-join in the value.
func (s *step) awaitJoin() {
	m, ok := s.log.Value.Member(s.Member)
	switch {
	case ok && m.Heartbeat == s.Own.Key:
		s.Inc = m.Incarnation
		s.Is = member.PhaseMember
	case ok && m.State != cluster.MemberHeld && m.Heartbeat != s.claim.Key:
		s.Is = member.PhaseNaming // another start was quicker
	}
}

// stayMember notices that we are joined, or were removed.
func (s *step) stayMember() {
	m, ok := s.log.Value.Member(s.Member)
	switch {
	case !ok || m.Incarnation != s.Inc || m.State == cluster.MemberHeld:
		s.remove()
	case m.State == cluster.MemberJoined && !s.joined:
		s.joined = true
		s.Emit(member.Joining{Incarnation: s.Inc})
	}
}

// awaitConfirm looks for our confirm-member in the value, or for our removal.
func (s *step) awaitConfirm() {
	m, ok := s.log.Value.Member(s.Member)
	switch {
	case ok && m.Heartbeat == s.Own.Key && s.Own.Held:
		s.Inc = m.Incarnation
		s.Is = member.PhaseMember
	case !ok || m.Incarnation != s.Inc:
		s.remove()
	}
}

func (s *step) remove() {
	s.joined = false
	s.Remove(s.log.Value.Index(), "the cluster has removed it")
}

// comeBack rejoins, as another life, once nothing of the former one runs.
func (s *step) comeBack() {
	if !s.Idle() {
		return
	}
	s.Life++
	s.Inc, s.Own = 0, member.Own{}
	s.work.Again()
	s.claim = heartbeat.Observation{}
	s.Is = member.PhaseNaming
}

// settle ends the member when its leave stands in the log, or was not needed.
func (s *step) settle() {
	if s.Is != member.PhaseLeaving || !s.Idle() || s.log.Out.Pending != nil {
		return
	}
	if _, ok := s.present(); !ok {
		s.Gone()
	}
}

// present is this life of the member in the value.
func (s *step) present() (cluster.Member, bool) {
	m, ok := s.log.Value.Member(s.Member)
	return m, ok && m.Heartbeat == s.Own.Key && m.State != cluster.MemberHeld
}
