package walk

import (
	"github.com/rota-run/rota/cluster"
	kernel "github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/store"
)

// claim begins a walk of a machine that has documents alone: the first member submits the job, and then the others join.
func (s *State) claim() *State {
	s.truth, s.assess = &cluster.Value{}, s.rules.Machine.Truth()
	for i := range s.members {
		s.begin(i)
		s.quiesce()
		if i == 0 {
			s.step(i, kernel.Proposed{ID: 1, Commands: founding(s.bounds).Commands})
			s.quiesce()
		}
	}
	return s
}

// assemble is the truth after a change of a document.
func (s *State) assemble(key string) {
	if s.truth == nil {
		return
	}
	after := s.assess(*s.truth, func() []store.Doc { return s.docs.List("") }, key).After
	s.truth = &after
}
