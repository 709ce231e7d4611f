package sync

import (
	"slices"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/duty"
	"github.com/rota-run/rota/internal/protocol/fold"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/internal/protocol/outbox"
	"github.com/rota-run/rota/protocol"
)

// State is all that one member knows. It is a value: Step returns another one and shares slices that it does not change.
type State struct {
	member.Core
	log     fold.Ledger
	work    duty.Work
	epochAt protocol.Instant // when the present epoch was applied
	passed  protocol.Instant

	group    group
	shares   []cluster.Share // as of sharedAt
	sharedAt cluster.Index
	told     told
	rest     protocol.Instant // something of ours was refused: no epoch and no share before
}

// NewState is a member that has just started.
func NewState(p member.Params) State {
	p.Member = p.Join.Member
	return State{Core: member.NewCore(p, member.Resume)}
}

// Step takes one event in. It changes the state and nothing else: the same state and event give the same state and effects.
func Step(s *State, ev member.Event) []member.Effect {
	st := &step{s}
	return st.Step(st, ev)
}

// step is one call of Step.
type step struct{ *State }

// Index implements member.Machine.
func (s *step) Index() cluster.Index { return s.log.Value.Index() }

// Take implements member.Machine.
func (s *step) Take(ev member.Event) {
	was, _ := s.log.Value.Epoch()
	switch ev := ev.(type) {
	case member.Hinted:
		s.log.Hint = true
	case member.Read, member.SnapshotRead, member.Appended, member.LogChecked, member.SnapshotSaved, member.Proposed:
		s.logged(ev)
	default:
		s.heardGroup(ev)
	}
	if now, _ := s.log.Value.Epoch(); now != was {
		s.epochAt = s.At
	}
}

// Advance implements member.Machine.
func (s *step) Advance() {
	if read, ok := s.log.Look(s.At); ok {
		s.Emit(read)
	}
	s.walk()
	s.keepGroup()
	s.log.Check(&s.Core)
	if !s.log.History.Doubted { // else nothing begins, and nothing is said, before the store has said which history it has
		if s.Is == member.PhaseMember {
			s.work.Assign(&s.Core, s.log.Value)
		}
		s.propose()
		s.log.Save(&s.Core, 0, s.writes)
	}
	_, in := s.present() // the group is left by the caller's Close
	s.log.Settle(&s.Core, in)
	s.setWake()
}

// setWake asks to be woken at the next instant at which something is due.
func (s *step) setWake() {
	w := s.Waking()
	s.log.Due(&w)
	w.Due(s.group.busy, s.group.next)
	s.WakeAt(w)
}

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
func (s *step) First() bool { return s.log.Leads(&s.Core) }

// writes reports whether this member writes snapshots.
func (s *step) writes() bool { return s.Is == member.PhaseMember && s.First() }
