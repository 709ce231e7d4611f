package walk

import (
	"fmt"
	"slices"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/proof/sim/machine"
)

// Broken implements check.Model.
func (m Model) Broken(s *State) string { return s.broken }

// checkWork looks at who does what: no two members act for one partition at once unless its hand-over wants it, and
// whoever acts takes part as far as it knows. And nobody counts more starts of the group than there were.
func (s *State) checkWork() {
	if e, _ := s.head().Epoch(); e.Start > 1+uint64(s.used[Forgets]) {
		s.broken = fmt.Sprintf("epoch %s counts another start of the group, which was forgotten %d times", e,
			s.used[Forgets])
	}
	for p := range s.head().Partitions() {
		var owner *member
		for i := range s.members {
			m := s.members[i]
			if !m.acts(p.ID) {
				continue
			}
			if !slices.Contains(s.rules.Machine.Joined, m.state.Phase()) {
				s.broken = fmt.Sprintf("only joined members work: %s runs %s", name(i), p.ID)
			}
			if owner != nil && s.apart(p.ID, owner, m) {
				s.broken = fmt.Sprintf("G2: %s runs on two members at once", p.ID)
			}
			owner = m
		}
	}
}

// apart tells whether two members may not run a partition at once. Where the hand-over lets the new owner begin beside
// the old one, it does so under a larger token.
func (s *State) apart(p cluster.PartitionID, a, b *member) bool {
	return s.bounds.Handover == cluster.HandoverAtMostOne || a.token(p) == b.token(p)
}

// Good implements check.Model: everyone that runs is joined, has read all and says nothing more; the dead are gone from
// the value; every partition runs where it is granted. When nobody runs there is nobody to say anything.
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
		if me.up != ok || me.up && (rec.State != cluster.MemberJoined || !s.content(me)) {
			return false
		}
	}
	return true
}

// content tells whether a member has read all and wants nothing.
func (s *State) content(m *member) bool {
	wants := slices.ContainsFunc(m.calls, func(e machine.Effect) bool { return s.way(e) != Quiet })
	return !m.leaving && m.awake() && m.inquiry == nil && len(m.hints) == 0 && !wants && !s.behind(m)
}

func (s *State) allRun() bool {
	for p := range s.head().Partitions() {
		if p.State != cluster.PartitionGranted || !s.members[int(p.Owner[0]-'a')].acts(p.ID) {
			return false
		}
	}
	return true
}
