package lease

import (
	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol/member"
)

// walk moves from phase to phase as far as the state allows.
func (s *step) walk() {
	switch s.Is {
	case member.PhaseNaming:
		if s.name.clear {
			s.Is = member.PhaseBeginning
			return
		}
		s.checkName()
	case member.PhaseBeginning:
		if s.Own.Held {
			s.Is = member.PhaseJoining
			s.join()
		}
	case member.PhaseJoining:
		s.join()
	case member.PhaseRemoved:
		if s.nextLife(); s.Is == member.PhaseNaming {
			s.checkName()
		}
	}
}

// join writes us into the Node List.
func (s *step) join() {
	if !s.trying("") {
		c := s.p.Join
		c.Heartbeat, c.Replaces = s.Own.Key, s.name.replaces
		s.try(c)
	}
}

// joinTried takes in how our entry into the Node List ended.
func (s *step) joinTried(t try) {
	if !t.result.Accepted {
		if s.Is == member.PhaseJoining { // another start was quicker or has left, or an entry of ours was stored of which we did not hear
			s.lapse("its entry into the Node List was refused")
		}
		return
	}
	n, _, _ := read[nodesDoc](t.put)
	members, _ := n.members()
	for _, m := range members {
		if m.ID == s.Member {
			s.Inc = m.Incarnation
		}
	}
	if s.Is != member.PhaseJoining {
		return // it is leaving
	}
	s.Is = member.PhaseMember
	s.look.index = n.Index
	s.look.members = members
	s.Emit(member.Joining{Incarnation: s.Inc})
}

// settle ends the member when the Node List is without it. What it had claimed is free then.
func (s *step) settle() {
	if s.Is != member.PhaseLeaving || !s.Idle() {
		return
	}
	if s.Inc == 0 && !s.trying("") {
		s.Gone()
		return
	}
	if !s.trying("") {
		s.try(cluster.LeaveCluster{Member: s.Member, Incarnation: s.Inc, Reason: s.Stop})
		s.advanceTries()
	}
}
