package replica

import (
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/protocol"
)

// maxReplay is the cost of the entries between two snapshots; a reader replays those of twice as many at most. It is about half a second of one core.
const maxReplay = 2_500_000

func (s *step) hinted(ev member.Hinted) {
	if ev.Prefix == "" {
		s.log.Hint = true
		return
	}
	s.check.next = s.At
}

// readLog reads the log when that is due. Where all is polled for, it goes with the looks at the heartbeat that this
// member watches, which come at other times than once in a poll: many stores take both in one request.
func (s *step) readLog() {
	looks := s.p.polled && s.watching != "" && !s.check.busy
	with := looks && s.At >= max(s.check.next, s.check.rest) && s.routine()
	switch {
	case with:
		s.log.Next = min(s.log.Next, s.At)
	case looks && !s.log.Hint && s.check.next > s.At && s.check.next < s.log.Next.Add(s.Poll/2):
		return
	}
	if read, ok := s.log.Look(s.At); ok {
		read.With = with
		s.Emit(read)
	}
}

// Took implements fold.Keeper.
func (s *step) Took(protocol.Applied) {}

// Every implements fold.Keeper.
func (s *step) Every() time.Duration { return max(s.Poll, s.LogEvery) }

// First implements fold.Keeper.
func (s *step) First() bool { return s.log.Leads(&s.Core) }

// writes reports whether this member writes snapshots.
func (s *step) writes() bool { return s.Is == member.PhaseMember && s.First() }

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
