package walk

import (
	"slices"

	kernel "github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/proof/sim/model"
)

// note notes that a document, or, for "", the log has changed.
func (s *State) note(key string) {
	s.assemble(key)
	if s.rules.Settled {
		s.changed = append(slices.Clip(s.changed), key)
	}
}

// tell tells the members of what has changed: at once all of them where they are prompt, else those that write nothing.
func (s *State) tell() {
	for again := true; again && s.broken == ""; {
		s.distribute()
		again = false
		for i, m := range s.members {
			if m.up && m.awake() && len(m.hints) > 0 && (s.bounds.Prompt || !s.writing(m)) {
				s.hear(i)
				again = true
			}
		}
		again = again || len(s.changed) > 0
	}
}

// distribute gives each member the hints of what it watches.
func (s *State) distribute() {
	keys := s.changed
	s.changed = nil
	for i, m := range s.members {
		if !m.up {
			continue
		}
		for _, key := range keys {
			for _, p := range s.rules.Machine.Told(m.state, key) {
				s.hint(i, p)
			}
		}
	}
}

func (s *State) hint(i int, prefix string) {
	m := s.own(i)
	if at, ok := slices.BinarySearch(m.hints, prefix); !ok {
		m.hints = slices.Insert(slices.Clone(m.hints), at, prefix)
	}
}

// hear delivers the hints of a member.
func (s *State) hear(i int) {
	m := s.own(i)
	hints := m.hints
	m.hints = nil
	for _, p := range hints {
		s.step(i, kernel.Hinted{Prefix: p})
	}
}

// quiesce does everything that is asked for, until nobody asks for anything.
func (s *State) quiesce() {
	for again := true; again && s.broken == ""; {
		s.tell()
		again = false
		for i, m := range s.members {
			again = m.up && s.doOne(i) || again
		}
	}
	s.trim()
}

// doOne does the first call of a member that does something.
func (s *State) doOne(i int) bool {
	for k, e := range s.members[i].calls {
		if s.way(e) == Risky {
			s.write(i, k, model.Fine)
			return true
		}
		if s.deliver(i, k) {
			return true
		}
	}
	if len(s.members[i].hints) > 0 {
		s.hear(i)
		return true
	}
	return false
}
