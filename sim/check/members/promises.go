package members

import (
	"fmt"

	"github.com/rota-run/rota/cluster"
)

// Broken implements check.Model.
func (m Model) Broken(s *State) string { return s.broken }

// checkWork looks at who does what: no two members act for one partition at once unless its hand-over wants it, and whoever acts is
// joined as far as it has read.
func (s *State) checkWork() {
	for p := range s.head().Partitions() {
		var owner *member
		for i := range s.members {
			m := s.members[i]
			if !m.acts(p.ID) {
				continue
			}
			if me, ok := m.state.Value().Member(name(i)); !ok || me.State != cluster.MemberJoined {
				s.broken = fmt.Sprintf("only joined members work: %s runs %s", name(i), p.ID)
			}
			if owner != nil && s.apart(p.ID, owner, m) {
				s.broken = fmt.Sprintf("G2: %s runs on two members at once", p.ID)
			}
			owner = m
		}
	}
}

// apart tells whether two members may not run a partition at once. Where the hand-over lets the new owner begin beside the old one, it
// does so under a larger token.
func (s *State) apart(p cluster.PartitionID, a, b *member) bool {
	return s.bounds.Handover == cluster.HandoverAtMostOne || a.token(p) == b.token(p)
}

// Good implements check.Model: everyone that runs is joined, has read all and says nothing more; the dead are gone from the value; every
// partition runs where it is granted. When nobody runs there is nobody to say anything.
func (m Model) Good(s *State) bool {
	live := 0
	for _, me := range s.members {
		if !me.up && me.starts == 0 {
			return false
		}
		if me.up {
			live++
		}
	}
	return live == 0 || s.settled() && s.allRun()
}

func (s *State) settled() bool {
	for i, me := range s.members {
		rec, ok := s.head().Member(name(i))
		if me.up != ok || me.up && (rec.State != cluster.MemberJoined || !me.content(s.head().Index())) {
			return false
		}
	}
	return true
}

// content tells whether a member has read all and wants nothing.
func (m *member) content(head cluster.Index) bool {
	return !m.leaving && m.awake() && m.append == nil && m.pulse == "" && m.state.Value().Index() == head
}

func (s *State) allRun() bool {
	for p := range s.head().Partitions() {
		i := int(p.Owner[0] - 'a')
		if p.State != cluster.PartitionGranted || !s.members[i].acts(p.ID) {
			return false
		}
	}
	return true
}
