package replica

import (
	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/heartbeat"
	"github.com/rota-run/rota/internal/protocol/member"
)

// Stand implements member.Machine: where the newest value says that the member stands.
func (s *step) Stand() member.Stand {
	m, ok := s.Log.Value.Member(s.Member)
	w := member.Stand{Inc: m.Incarnation, Joined: m.State == cluster.MemberJoined}
	switch s.Is {
	case member.PhaseReading:
		w.Ready = s.Log.Whole()
	case member.PhaseNaming:
		w.Free = s.free(m, ok && m.State != cluster.MemberHeld)
	case member.PhaseJoining:
		w.In, w.Waits = ok && m.Heartbeat == s.Own.Key, ok && m.State != cluster.MemberHeld &&
			m.Heartbeat != s.claim.Key
	case member.PhaseMember:
		w.Out = !ok || m.Incarnation != s.Inc || m.State == cluster.MemberHeld
	case member.PhaseConfirming:
		w.In, w.Out = ok && m.Heartbeat == s.Own.Key && s.Own.Held, !ok || m.Incarnation != s.Inc
	case member.PhaseRemoved:
		w.Free = true
	}
	return w
}

// free makes sure that no live process is in the cluster under our name: it waits until that one's heartbeat is gone or
// has been silent, and gives up when it sees it renewed.
func (s *step) free(m cluster.Member, in bool) bool {
	if !in {
		s.claim = heartbeat.Observation{}
		return true
	}
	if s.claim.Key != m.Heartbeat {
		s.claim = heartbeat.Observation{Key: m.Heartbeat}
	}
	return s.Ours(m.Heartbeat) || s.Dead(s.claim)
}

// Again implements member.Machine.
func (s *step) Again() {
	s.Work.Again()
	s.claim = heartbeat.Observation{}
}

// present is this life of the member in the value.
func (s *step) present() (cluster.Member, bool) {
	m, ok := s.Log.Value.Member(s.Member)
	return m, ok && m.Heartbeat == s.Own.Key && m.State != cluster.MemberHeld
}
