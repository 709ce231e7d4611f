package sync

import (
	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol/duty"
	"github.com/rota-run/rota/protocol/member"
)

// assign derives what the supervisor should run, when that or our lease has changed.
func (s *step) assign() {
	if s.phase != phaseMember {
		return
	}
	next := s.assigned
	if r := s.reactions(); r.Changed != s.changed || next.Version == 0 {
		s.changed = r.Changed
		s.derived, s.silent = s.derived.At(s.value, s.self()), false
		next = duty.Granted(next, s.value.Index(), s.derived.Grants)
	}
	next.ValidUntil = s.group.lease.Until(s.p.timing())
	if next.Version != s.assigned.Version || next.ValidUntil != s.assigned.ValidUntil {
		s.assigned = next
		s.emit(member.Assign{Assignment: next})
	}
}

// steps are the commands that say what became of our duties.
func (s *step) steps() []cluster.Command {
	if s.reported < s.assigned.Version {
		return nil // the supervisor has yet to take in what it should do: "not reported" proves nothing
	}
	if s.silent {
		return nil
	}
	var out []cluster.Command
	out, s.calm = s.calm.Steps(s.derived.Duties, s.reports, s.now, s.p.TTL)
	s.silent = len(out) == 0 && len(s.calm) == 0
	return out
}
