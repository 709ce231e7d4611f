package replica

import (
	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol/member"
	"github.com/rota-run/rota/protocol/outbox"
	"github.com/rota-run/rota/protocol/shell"
)

func (s *step) writer() cluster.WriterID { return shell.Writer(s.Member, s.Nonce) }

// propose appends what is wanted, when nothing is under way.
func (s *step) propose() {
	s.reply(s.out.Passed(s.value.Index(), s.At))
	if s.out.Rests(s.At) {
		return
	}
	if s.out.Pending == nil {
		s.out = s.out.Compose(s.At, s.writer(), s.value, s.wanted(), s.Is < member.PhaseMember)
	}
	if s.out.Again(s.value.Index()) { // unknown, or acknowledged and yet not in the log
		s.out = s.out.Sent()
		s.Emit(member.Append{Entry: s.out.Pending.Entry})
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
			return []cluster.Command{cluster.LeaveCluster{Member: m.ID, Incarnation: m.Incarnation, Reason: s.Stop, Hold: s.Restart}}
		}
	}
	return nil
}

func (s *step) prepareJoin() cluster.Command {
	c := s.Join
	c.Heartbeat, c.Again = s.Own.Key, s.Life > 0
	if m, ok := s.value.Member(s.Member); ok {
		c.Replaces = m.Incarnation
	}
	return c
}

func (s *step) memberCommands() []cluster.Command {
	r := s.work.Asks(&s.Core, s.value)
	out := s.deaths()
	if r.Accept {
		if o := s.heartbeats.Of(r.Watch.Heartbeat); o.Known && !s.Dead(o) {
			out = append(out, cluster.AcceptJoin{
				Member: r.Watch.ID, Incarnation: r.Watch.Incarnation, By: s.Member, ByIncarnation: s.Inc,
			})
		}
	}
	out = append(out, s.work.Releases(&s.Core, s.value)...)
	if s.joined {
		out = append(out, s.work.Steps(&s.Core)...)
	}
	return out
}

func (s *step) appended(ev member.Appended) {
	s.out = s.out.Returned()
	s.Appended(ev)
	if !s.out.Waits(ev.Seq) {
		return
	}
	if ev.Outcome == outbox.Done {
		s.acknowledged(ev)
		return
	}
	s.log.Hint = s.log.Hint || ev.Outcome == outbox.Unknown
	s.reply(s.out.Failed(ev.Outcome, ev.Err, s.At.Add(s.Poll)))
}

// acknowledged handles the index of our entry.
func (s *step) acknowledged(ev member.Appended) {
	t, _ := s.log.Acknowledged(&s.value, ev, s.logTurn())
	if s.out.Waits(ev.Seq) { // it is to be read yet, or nobody can read it
		s.out = s.out.At(ev.Index)
	}
	s.taken(t)
}

// reply answers requests.
func (s *step) reply(out outbox.Box, answers []outbox.Answer) {
	s.out = out
	for _, a := range answers {
		s.Emit(member.Reply(a))
	}
}
