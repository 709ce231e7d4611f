package replica

import (
	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/protocol"
)

// maxReplay is the cost of the entries between two snapshots; a reader replays those of twice as many at most. It is
// about half a second of one core.
const maxReplay = 2_500_000

func (s *step) hinted(ev member.Hinted) {
	if ev.Prefix == "" {
		s.Log.Hint = true
		return
	}
	s.check.next = s.At
}

// readLog reads the log when that is due. Where all is polled for, it goes with the looks at the heartbeat that this
// member watches, which come at other times than once in a poll: many stores take both in one request.
func (s *step) readLog() {
	looks := s.polled() && s.watching != "" && !s.check.busy
	with := looks && s.At >= max(s.check.next, s.check.rest) && s.routine()
	switch {
	case with:
		s.Log.Next = min(s.Log.Next, s.At)
	case looks && !s.Log.Hint && s.check.next > s.At && s.check.next < s.Log.Next.Add(s.Poll/2):
		return
	}
	s.Log.Look(&s.Core, with)
}

// Took implements fold.Keeper.
func (s *step) Took(protocol.Applied) {}

// propose appends what is wanted, when nothing is under way.
func (s *step) propose() {
	if e, ok := s.Log.Say(&s.Core, s.Is < member.PhaseMember, s.wanted); ok {
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
		return s.Leaves(s.present())
	}
	return nil
}

func (s *step) prepareJoin() cluster.Command {
	c := s.Join
	c.Heartbeat, c.Again = s.Own.Key, s.Life > 0
	if m, ok := s.Log.Value.Member(s.Member); ok {
		c.Replaces = m.Incarnation
	}
	return c
}

func (s *step) memberCommands() []cluster.Command {
	r := s.Work.Asks(&s.Core, s.Log.Value)
	out := s.deaths()
	if r.Accept {
		if o := s.heartbeats.Of(r.Watch.Heartbeat); o.Known && !s.Dead(o) {
			out = append(out, cluster.AcceptJoin{
				Member: r.Watch.ID, Incarnation: r.Watch.Incarnation, By: s.Member, ByIncarnation: s.Inc,
			})
		}
	}
	out = append(out, s.Work.Releases(&s.Core, s.Log.Value)...)
	if s.Joined {
		out = append(out, s.Work.Steps(&s.Core)...)
	}
	return out
}
