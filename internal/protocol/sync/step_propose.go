package sync

import (
	"slices"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/internal/protocol/outbox"
	"github.com/rota-run/rota/protocol"
)

// propose appends what is wanted, when nothing is under way.
func (s *step) propose() {
	was := s.log.Out.Pending
	s.log.Pass(&s.Core)
	s.unannounced(was)
	if e, ok := s.log.Say(&s.Core, s.Is < member.PhaseMember, s.wanted); ok {
		s.Emit(Append{Entry: e, Epoch: epochOf(s.log.Value)})
	}
}

// unannounced notes that an entry was given up: an epoch that it had in it is to be announced yet.
func (s *step) unannounced(was *outbox.Pending) {
	if was != nil && s.log.Out.Pending == nil && slices.ContainsFunc(was.Entry.Commands, announces) {
		s.group.begun = 0
	}
}

// wanted are the commands that the state asks for.
func (s *step) wanted() []cluster.Command {
	switch s.Is {
	case member.PhaseJoining:
		return s.announce()
	case member.PhaseMember:
		out := append(s.announce(), s.work.Releases(&s.Core, s.log.Value)...)
		out = append(out, s.work.Steps(&s.Core)...)
		out = append(out, s.shared()...)
		return append(out, s.own()...)
	case member.PhaseLeaving:
		if m, ok := s.present(); ok && s.Idle() {
			return []cluster.Command{cluster.LeaveCluster{Member: m.ID, Incarnation: m.Incarnation, Reason: s.Stop, Hold: s.Holds()}}
		}
	default:
	}
	return nil
}

// logged takes in an answer of the log, or a request.
func (s *step) logged(ev member.Event) {
	was := s.log.Out.Pending
	if err := s.log.Take(&s.Core, s, ev); err != nil {
		s.Halt(s.log.Value.Index(), err)
	}
	if a, ok := ev.(member.Appended); ok && a.Outcome == outbox.NotDone {
		s.unannounced(was)
	}
}

// Took notes what our own entry has said.
func (s *step) Took(a protocol.Applied) {
	if !a.Duplicate && a.Entry.Writer == s.Writer() {
		s.spoke(a.Entry, a.Results)
	}
}

// Every implements fold.Keeper.
func (s *step) Every() time.Duration { return max(s.Poll, s.LogEvery) }

// First implements fold.Keeper.
func (s *step) First() bool {
	first, ok := s.log.Value.FirstJoined()
	return ok && first == s.Member
}

// writes reports whether this member writes snapshots.
func (s *step) writes() bool { return s.Is == member.PhaseMember && s.First() }
