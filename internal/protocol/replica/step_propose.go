package replica

import (
	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/member"
)

// propose appends what is wanted, when nothing is under way.
func (s *step) propose() {
	if e, ok := s.log.Say(&s.Core, s.Is < member.PhaseMember, s.wanted); ok {
		s.Emit(member.Append{Entry: e})
	}
}

// wanted are the commands that the state asks for.
func (s *step) wanted() []cluster.Command {
	switch s.Is {
	case member.PhaseJoining:
		return []cluster.Command{s.prepareJoin()}
	case member.PhaseMember:
		return s.memberCommands()
	case member.PhaseConfirming:
		if s.Own.Held {
			return []cluster.Command{cluster.ConfirmMember{Member: s.Member, Incarnation: s.Inc, Heartbeat: s.Own.Key}}
		}
	case member.PhaseLeaving:
		if m, ok := s.present(); ok && s.Idle() {
			return []cluster.Command{cluster.LeaveCluster{Member: m.ID, Incarnation: m.Incarnation, Reason: s.Stop, Hold: s.Holds()}}
		}
	}
	return nil
}

func (s *step) prepareJoin() cluster.Command {
	c := s.Join
	c.Heartbeat, c.Again = s.Own.Key, s.Life > 0
	if m, ok := s.log.Value.Member(s.Member); ok {
		c.Replaces = m.Incarnation
	}
	return c
}

func (s *step) memberCommands() []cluster.Command {
	r := s.work.Asks(&s.Core, s.log.Value)
	out := s.deaths()
	if r.Accept {
		if o := s.heartbeats.Of(r.Watch.Heartbeat); o.Known && !s.Dead(o) {
			out = append(out, cluster.AcceptJoin{
				Member: r.Watch.ID, Incarnation: r.Watch.Incarnation, By: s.Member, ByIncarnation: s.Inc,
			})
		}
	}
	out = append(out, s.work.Releases(&s.Core, s.log.Value)...)
	if s.Joined {
		out = append(out, s.work.Steps(&s.Core)...)
	}
	return out
}
