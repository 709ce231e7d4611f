package replica

import (
	"slices"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol/member"
	"github.com/rota-run/rota/protocol/outbox"
	"github.com/rota-run/rota/protocol/shell"
)

func (s *step) writer() cluster.WriterID { return shell.Writer(s.self(), s.p.Nonce) }

// propose appends what is wanted, when nothing is under way.
func (s *step) propose() {
	s.reply(s.out.Passed(s.value.Index(), s.now))
	if s.out.Rests(s.now) {
		return
	}
	if s.out.Pending == nil {
		s.out = s.out.Compose(s.now, s.writer(), s.value, s.wanted(), s.phase < phaseMember)
	}
	if s.out.Again(s.value.Index()) { // unknown, or acknowledged and yet not in the log
		s.out = s.out.Sent()
		s.emit(member.Append{Entry: s.out.Pending.Entry})
	}
}

// wanted are the commands that the state asks for.
func (s *step) wanted() []cluster.Command {
	switch s.phase {
	case phaseJoin:
		return []cluster.Command{s.prepareJoin()}
	case phaseMember:
		return s.memberCommands()
	case phaseConfirm:
		if s.renewal.Held {
			return []cluster.Command{cluster.ConfirmMember{Member: s.self(), Incarnation: s.inc, Heartbeat: s.renewal.key}}
		}
	case phaseLeaving:
		if m, ok := s.present(); ok && s.idle() {
			return []cluster.Command{cluster.LeaveCluster{Member: m.ID, Incarnation: m.Incarnation, Reason: s.stop, Hold: s.p.Restart}}
		}
	}
	return nil
}

func (s *step) prepareJoin() cluster.Command {
	c := s.p.Join
	c.Heartbeat, c.Again = s.renewal.key, s.life > 0
	if m, ok := s.value.Member(s.self()); ok {
		c.Replaces = m.Incarnation
	}
	return c
}

func (s *step) memberCommands() []cluster.Command {
	r := s.reactions()
	out := s.deaths()
	if r.Accept {
		if o := s.heartbeats.Of(r.Watch.Heartbeat); o.Known && !s.dead(o) {
			out = append(out, cluster.AcceptJoin{
				Member: r.Watch.ID, Incarnation: r.Watch.Incarnation, By: s.self(), ByIncarnation: s.inc,
			})
		}
	}
	out = append(out, s.releases(r)...)
	if s.joined {
		out = append(out, s.steps()...)
	}
	return out
}

// releases frees the grants of held members whose time is over.
func (s *step) releases(r cluster.Reactions) (out []cluster.Command) {
	out, s.holds = s.holds.Release(slices.Values(r.Held), s.now, s.p.Hold)
	return out
}

func (s *step) appended(ev member.Appended) {
	s.out = s.out.Returned()
	s.contact, s.fx = s.contact.Appended(s.fx, ev)
	if !s.out.Waits(ev.Seq) {
		return
	}
	if ev.Outcome == outbox.Done {
		s.acknowledged(ev)
		return
	}
	s.log.Hint = s.log.Hint || ev.Outcome == outbox.Unknown
	s.reply(s.out.Failed(ev.Outcome, ev.Err, s.now.Add(s.p.Poll)))
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
		s.emit(member.Reply(a))
	}
}
