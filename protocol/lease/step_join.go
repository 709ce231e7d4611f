package lease

import (
	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol/member"
)

// walk moves from phase to phase as far as the state allows.
func (s *step) walk() {
	switch s.phase {
	case phaseName:
		if s.name.clear {
			s.phase = phaseBeat
			return
		}
		s.checkName()
	case phaseBeat:
		if s.beat.Held {
			s.phase = phaseJoin
			s.join()
		}
	case phaseJoin:
		s.join()
	case phaseRemoved:
		if s.nextLife(); s.phase == phaseName {
			s.checkName()
		}
	}
}

// join writes us into the Node List.
func (s *step) join() {
	if !s.trying("") {
		c := s.p.Join
		c.Heartbeat, c.Replaces = s.beat.key, s.name.replaces
		s.try(c)
	}
}

// joinTried takes in how our entry into the Node List ended.
func (s *step) joinTried(t try) {
	if !t.result.Accepted {
		if s.phase == phaseJoin { // another start was quicker or has left, or an entry of ours was stored of which we did not hear
			s.lapse("its entry into the Node List was refused")
		}
		return
	}
	n, _, _ := read[nodesDoc](t.put)
	members, _ := n.members()
	for _, m := range members {
		if m.ID == s.self() {
			s.inc = m.Incarnation
		}
	}
	if s.phase != phaseJoin {
		return // it is leaving
	}
	s.phase = phaseMember
	s.look.index = n.Index
	s.look.members = members
	s.emit(member.Joining{Incarnation: s.inc})
}

// leave begins to leave gracefully.
func (s *step) leave(reason string) {
	s.stop = reason
	if s.phase < phaseJoin || s.phase == phaseRemoved {
		s.phase = phaseGone
		s.emit(member.Left{})
		return
	}
	s.phase = phaseLeaving
	s.revoke(s.assigned.ValidUntil) // what runs stops because it leaves, not because it lost its lease
}

// settle ends the member when the Node List is without it. What it had claimed is free then.
func (s *step) settle() {
	if s.phase != phaseLeaving || !s.idle() {
		return
	}
	if s.inc == 0 && !s.trying("") {
		s.phase = phaseGone
		s.emit(member.Left{})
		return
	}
	if !s.trying("") {
		s.try(cluster.LeaveCluster{Member: s.self(), Incarnation: s.inc, Reason: s.stop})
		s.advanceTries()
	}
}
