package sync

import (
	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol/duty"
	"github.com/rota-run/rota/protocol/member"
)

// assign derives what the supervisor should run, when that or our lease has changed.
func (s *step) assign() {
	if s.Is != member.PhaseMember {
		return
	}
	next := s.Given
	if r := s.reactions(); r.Changed != s.changed || next.Version == 0 {
		s.changed = r.Changed
		s.derived, s.silent = s.derived.At(s.value, s.Member), false
		next = duty.Granted(next, s.value.Index(), s.derived.Grants)
	}
	s.Assign(next, s.Own.Until(s.Timing()))
}

// steps are the commands that say what became of our duties.
func (s *step) steps() []cluster.Command {
	if s.Behind() {
		return nil // the supervisor has yet to take in what it should do: "not reported" proves nothing
	}
	if s.silent {
		return nil
	}
	var out []cluster.Command
	out, s.calm = s.calm.Steps(s.derived.Duties, s.Reports, s.At, s.Params.TTL)
	s.silent = len(out) == 0 && len(s.calm) == 0
	return out
}
