package sync

import (
	"slices"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/protocol/outbox"
	"github.com/rota-run/rota/protocol/shell"
	"github.com/rota-run/rota/store"
)

func (s *step) writer() cluster.WriterID { return shell.Writer(s.self(), s.p.Nonce) }

// propose appends what is wanted, when nothing is under way.
func (s *step) propose() {
	if s.out.Rests(s.now) {
		return
	}
	if s.out.Pending == nil {
		s.out = s.out.Compose(s.writer(), s.value, s.wanted(), s.phase < phaseMember)
	}
	if s.out.Again(s.value.Index()) { // unknown, or acknowledged and yet not in the log
		s.out = s.out.Sent()
		s.emit(Append{Entry: s.out.Pending.Entry, Epoch: epochOf(s.value)})
	}
}

// wanted are the commands that the state asks for.
func (s *step) wanted() []cluster.Command {
	switch s.phase {
	case phaseWaiting:
		return s.announce()
	case phaseMember:
		out := append(s.announce(), s.releases()...)
		out = append(out, s.steps()...)
		out = append(out, s.shared()...)
		return append(out, s.own()...)
	case phaseLeaving:
		if m, ok := s.present(); ok && s.idle() {
			return []cluster.Command{cluster.LeaveCluster{Member: m.ID, Incarnation: m.Incarnation, Reason: s.stop, Hold: s.p.Restart}}
		}
	default:
	}
	return nil
}

// holdSeen is when a held member was first seen held. All that one epoch has joined have the same incarnation: only with the name is it of one member.
type holdSeen struct {
	member cluster.MemberID
	inc    cluster.Incarnation
	since  protocol.Instant
}

// releases frees the grants of held members whose time is over, by our own clock.
func (s *step) releases() []cluster.Command {
	var out []cluster.Command
	r := s.reactions()
	holds := make([]holdSeen, 0, len(r.Held))
	for _, m := range r.Held {
		h := holdSeen{m.ID, m.Incarnation, s.now}
		if i := slices.IndexFunc(s.holds, func(h holdSeen) bool { return h.member == m.ID && h.inc == m.Incarnation }); i >= 0 {
			h = s.holds[i]
		}
		holds = append(holds, h)
		if s.now.Sub(h.since) >= s.p.Hold {
			out = append(out, cluster.ReleaseHold{Member: m.ID, Incarnation: m.Incarnation})
		}
	}
	s.holds = holds
	return out
}

func (s *step) appended(ev Appended) {
	s.out = s.out.Returned()
	s.answered(ev.Err)
	if !s.out.Waits(ev.Seq) {
		return
	}
	switch ev.Outcome {
	case Done:
		s.acknowledged(ev)
	case Unknown:
		s.log.hint = true
		s.out = s.out.Unknown().Pause(s.now.Add(s.p.Poll))
	case NotDone:
		said := s.out.Pending.Entry.Commands
		s.out = s.out.Requeue().Pause(s.now.Add(s.p.Poll))
		if s.out.Pending == nil && slices.ContainsFunc(said, announces) {
			s.group.begun = 0 // nothing was announced
		}
	case Refused:
		s.reply(s.out.TooLarge(ev.Err))
	}
}

// acknowledged takes in at which index our entry is. Right after what was applied it is what a read would bring: indexes grow, and no entry ever changes.
func (s *step) acknowledged(ev Appended) {
	if ev.Index == s.value.Index()+1 {
		s.apply([]store.Record{{Index: uint64(ev.Index), Data: ev.Data}})
		return
	}
	s.out = s.out.At(ev.Index)
	s.log.hint = true
}

// reply answers requests.
func (s *step) reply(out outbox.Box, answers []outbox.Answer) {
	s.out = out
	for _, a := range answers {
		s.emit(Reply(a))
	}
}

// resolve answers the requests of our own entry when it was applied here.
func (s *step) resolve(e cluster.Entry, results []cluster.Result) {
	if e.Writer != s.writer() {
		return
	}
	s.spoke(e, results)
	if s.out.Waits(e.Seq) {
		s.reply(s.out.Applied(results))
	}
}

// unresolved gives up on our entry when it was applied where we did not see it: in a snapshot that we jumped to.
func (s *step) unresolved() { s.reply(s.out.Lost(s.value.Wrote(s.writer()))) }
