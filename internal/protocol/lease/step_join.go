package lease

import (
	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/member"
)

// Stand implements member.Walker: what our own acknowledged writes prove. A session that is lost ends the membership, and nothing else does.
func (s *step) Stand() member.Stand {
	switch {
	case s.Is == member.PhaseNaming && !s.name.clear:
		s.checkName()
	case s.Is == member.PhaseJoining && s.Inc == 0 && !s.trying(""):
		c := s.Join
		c.Heartbeat, c.Replaces = s.Own.Key, s.name.replaces
		s.try(c)
	}
	return member.Stand{Free: s.name.clear || s.Is == member.PhaseRemoved, In: s.Inc != 0, Joined: true, Inc: s.Inc, Index: s.value.Index()}
}

// Again implements member.Walker.
func (s *step) Again() { s.name = nameCheck{} }

// joinTried takes in how our entry into the Node List ended.
func (s *step) joinTried(t try) {
	if !t.result.Accepted {
		if s.Is == member.PhaseJoining { // another start was quicker or has left, or an entry of ours was stored of which we did not hear
			s.lapse("its entry into the Node List was refused")
		}
		return
	}
	n, _ := read[nodesDoc](t.put)
	members, _ := n.members()
	for _, m := range members {
		if m.ID == s.Member {
			s.Inc = m.Incarnation
		}
	}
	s.look.index, s.look.members = n.Index, members
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
