package replica

import (
	"slices"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/protocol/outbox"
	"github.com/rota-run/rota/store"
)

func (s *step) proposed(ev Proposed) {
	s.out = s.out.With(outbox.Request{ID: ev.ID, Commands: ev.Commands})
}

func (s *step) writer() cluster.WriterID {
	return cluster.WriterID(string(s.self()) + "-" + s.p.Nonce)
}

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
		s.emit(Append{Entry: s.out.Pending.Entry})
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
	c.Heartbeat = s.renewal.key
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

// holdSeen is when a held member was first seen held.
type holdSeen struct {
	inc   cluster.Incarnation
	since protocol.Instant
}

// releases frees the grants of held members whose time is over, by our own clock.
func (s *step) releases(r cluster.Reactions) []cluster.Command {
	var out []cluster.Command
	holds := make([]holdSeen, 0, len(r.Held))
	for _, m := range r.Held {
		h := holdSeen{m.Incarnation, s.now}
		if i := slices.IndexFunc(s.holds, func(h holdSeen) bool { return h.inc == m.Incarnation }); i >= 0 {
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
		s.out = s.out.Requeue().Pause(s.now.Add(s.p.Poll))
	case Refused:
		s.reply(s.out.TooLarge(ev.Err))
	}
}

// acknowledged takes in where our entry stands. Right behind what was applied it is what a read would bring: indexes grow, and no entry ever changes.
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
	if e.Writer == s.writer() && s.out.Waits(e.Seq) {
		s.reply(s.out.Applied(results))
	}
}

// unresolved gives up on our entry when it was applied where we did not see it: in a snapshot that we jumped to.
func (s *step) unresolved() { s.reply(s.out.Lost(s.value.Wrote(s.writer()))) }
