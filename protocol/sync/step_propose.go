package sync

import (
	"slices"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol/member"
	"github.com/rota-run/rota/protocol/outbox"
	"github.com/rota-run/rota/protocol/shell"
)

func (s *step) writer() cluster.WriterID { return shell.Writer(s.Member, s.Nonce) }

// propose appends what is wanted, when nothing is under way.
func (s *step) propose() {
	was := s.out.Pending
	if s.reply(s.out.Passed(s.value.Index(), s.At)); was != nil && s.out.Pending == nil && slices.ContainsFunc(was.Entry.Commands, announces) {
		s.group.begun = 0 // nothing was announced
	}
	if s.out.Rests(s.At) {
		return
	}
	if s.out.Pending == nil {
		s.out = s.out.Compose(s.At, s.writer(), s.value, s.wanted(), s.Is < member.PhaseMember)
	}
	if s.out.Again(s.value.Index()) { // unknown, or acknowledged and yet not in the log
		s.out = s.out.Sent()
		s.Emit(Append{Entry: s.out.Pending.Entry, Epoch: epochOf(s.value)})
	}
}

// wanted are the commands that the state asks for.
func (s *step) wanted() []cluster.Command {
	switch s.Is {
	case member.PhaseJoining:
		return s.announce()
	case member.PhaseMember:
		out := append(s.announce(), s.work.Releases(&s.Core, s.value)...)
		out = append(out, s.work.Steps(&s.Core)...)
		out = append(out, s.shared()...)
		return append(out, s.own()...)
	case member.PhaseLeaving:
		if m, ok := s.present(); ok && s.Idle() {
			return []cluster.Command{cluster.LeaveCluster{Member: m.ID, Incarnation: m.Incarnation, Reason: s.Stop, Hold: s.Restart}}
		}
	default:
	}
	return nil
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
	said := s.out.Pending.Entry.Commands
	s.log.Hint = s.log.Hint || ev.Outcome == outbox.Unknown
	s.reply(s.out.Failed(ev.Outcome, ev.Err, s.At.Add(s.Poll)))
	if ev.Outcome == outbox.NotDone && s.out.Pending == nil && slices.ContainsFunc(said, announces) {
		s.group.begun = 0 // nothing was announced
	}
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
