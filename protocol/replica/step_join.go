package replica

import (
	"strings"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/protocol/heartbeat"
	"github.com/rota-run/rota/protocol/member"
)

func (s *step) self() cluster.MemberID { return s.p.Join.Member }

// heartbeatKey is the key of the heartbeat of this life of the member. It is never used again.
func (s *step) heartbeatKey() string {
	return protocol.HeartbeatPrefix + heartbeat.Epoch(string(s.self()), s.p.Nonce, s.life)
}

// walk moves from phase to phase as far as the state allows.
func (s *step) walk() {
	for range 8 { // more phases than there are
		before := s.phase
		s.walkOne()
		if s.phase == before {
			return
		}
	}
}

func (s *step) walkOne() {
	switch s.phase {
	case phaseReading:
		if s.log.Began && s.value.Index() >= s.log.Ready {
			s.phase = phaseClaim
		}
	case phaseClaim:
		s.claimName()
	case phaseHeartbeat:
		if s.renewal.Held {
			s.phase = phaseJoin
		}
	case phaseJoin:
		s.awaitJoin()
	case phaseMember:
		s.stayMember()
	case phaseConfirm:
		s.awaitConfirm()
	case phaseRemoved:
		s.comeBack()
	}
}

// claimName makes sure that no live process is in the cluster under our name: it waits until that one's heartbeat is gone or has been
// silent, and gives up when it sees it renewed.
func (s *step) claimName() {
	m, ok := s.value.Member(s.self())
	if !ok || m.State == cluster.MemberHeld {
		s.claim = heartbeat.Observation{}
		s.phase = phaseHeartbeat
		return
	}
	if s.claim.Key != m.Heartbeat {
		s.claim = heartbeat.Observation{Key: m.Heartbeat}
	}
	if s.ours(m.Heartbeat) || s.dead(s.claim) {
		s.phase = phaseHeartbeat
	}
}

// ours tells whether a heartbeat is of this start: of a former life of it, in which nothing runs any more.
func (s *step) ours(key string) bool {
	return heartbeat.IsEpoch(strings.TrimPrefix(key, protocol.HeartbeatPrefix), string(s.self()), s.p.Nonce)
}

// awaitJoin looks for our prepare-join in the value.
func (s *step) awaitJoin() {
	m, ok := s.value.Member(s.self())
	switch {
	case ok && m.Heartbeat == s.renewal.key:
		s.inc = m.Incarnation
		s.phase = phaseMember
	case ok && m.State != cluster.MemberHeld && m.Heartbeat != s.claim.Key:
		s.phase = phaseClaim // another start was quicker
	}
}

// stayMember notices that we are joined, or were removed.
func (s *step) stayMember() {
	m, ok := s.value.Member(s.self())
	switch {
	case !ok || m.Incarnation != s.inc || m.State == cluster.MemberHeld:
		s.remove()
	case m.State == cluster.MemberJoined && !s.joined:
		s.joined = true
		s.emit(member.Joining{Incarnation: s.inc})
	}
}

// awaitConfirm looks for our confirm-member in the value, or for our removal.
func (s *step) awaitConfirm() {
	m, ok := s.value.Member(s.self())
	switch {
	case ok && m.Heartbeat == s.renewal.key && s.renewal.Held:
		s.inc = m.Incarnation
		s.phase = phaseMember
	case !ok || m.Incarnation != s.inc:
		s.remove()
	}
}

func (s *step) remove() {
	s.phase = phaseRemoved
	s.joined = false
	s.revoke(0)
	s.emit(member.Removing{Reason: "the cluster has removed it"})
}

// comeBack rejoins, as another life, once nothing of the former one runs.
func (s *step) comeBack() {
	if !s.idle() {
		return
	}
	s.life++
	s.inc, s.renewal, s.changed = 0, renewal{}, 0
	s.claim = heartbeat.Observation{}
	s.phase = phaseClaim
}

// leave begins to leave gracefully.
func (s *step) leave(reason string) {
	s.stop = reason
	if s.phase < phaseJoin {
		s.phase = phaseGone
		s.emit(member.Left{})
		return
	}
	s.phase = phaseLeaving
	s.revoke(s.assigned.ValidUntil) // what runs stops because it leaves, not because it lost its lease
}

// settle ends the member when its leave stands in the log, or was not needed.
func (s *step) settle() {
	if s.phase != phaseLeaving || !s.idle() || s.out.Pending != nil {
		return
	}
	if _, ok := s.present(); !ok {
		s.phase = phaseGone
		s.emit(member.Left{})
	}
}

// present is this life of the member in the value.
func (s *step) present() (cluster.Member, bool) {
	m, ok := s.value.Member(s.self())
	return m, ok && m.Heartbeat == s.renewal.key && m.State != cluster.MemberHeld
}
