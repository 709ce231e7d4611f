package sync

import (
	"slices"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/fold"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/internal/protocol/outbox"
	"github.com/rota-run/rota/protocol"
)

// State is all that one member knows. It is a value: Step returns another one and shares slices that it does not
// change.
type State struct {
	fold.Reader
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
	return State{Reader: fold.Reader{Core: member.NewCore(p, member.Resume)}}
}

// Step takes one event in. It changes the state and nothing else: the same state and event give the same state and
// effects.
func Step(s *State, ev member.Event) []member.Effect {
	st := &step{s}
	return st.Step(st, ev)
}

// step is one call of Step.
type step struct{ *State }

// Take implements member.Machine.
func (s *step) Take(ev member.Event) {
	was, _ := s.Log.Value.Epoch()
	switch ev := ev.(type) {
	case member.Hinted:
		s.Log.Hint = true
	case member.Read, member.SnapshotRead, member.Appended, member.LogChecked, member.SnapshotSaved, member.Proposed:
		s.logged(ev)
	default:
		s.heardGroup(ev)
	}
	if now, _ := s.Log.Value.Epoch(); now != was {
		s.epochAt = s.At
	}
}

// Advance implements member.Machine.
func (s *step) Advance() {
	s.Log.Look(&s.Core, false)
	s.walk()
	s.keepGroup()
	s.Log.Check(&s.Core)
	if !s.Log.History.Doubted { // else nothing begins, and nothing is said, before the store has said which history it has
		if s.Is == member.PhaseMember {
			s.Work.Assign(&s.Core, s.Log.Value)
		}
		s.propose()
		s.Log.Save(&s.Core, 0, s.Writes)
	}
	_, in := s.present() // the group is left by the caller's Close
	s.Log.Settle(&s.Core, in)
	s.setWake()
}

// setWake asks to be woken at the next instant at which something is due.
func (s *step) setWake() {
	w := s.Waking()
	s.Log.Due(&w)
	w.Due(s.group.busy, s.group.next)
	s.WakeAt(w)
}

// propose appends what is wanted, when nothing is under way.
func (s *step) propose() {
	was := s.Log.Out.Pending
	s.Log.Pass(&s.Core)
	s.unannounced(was)
	if e, ok := s.Log.Say(&s.Core, s.Is < member.PhaseMember, s.wanted); ok {
		s.Emit(Append{Entry: e, Epoch: epochOf(s.Log.Value)})
	}
}

// unannounced notes that an entry was given up: an epoch that it had in it is to be announced yet.
func (s *step) unannounced(was *outbox.Pending) {
	if was != nil && s.Log.Out.Pending == nil && slices.ContainsFunc(was.Entry.Commands, announces) {
		s.group.begun = 0
	}
}

// wanted are the commands that the state asks for.
func (s *step) wanted() []cluster.Command {
	switch s.Is {
	case member.PhaseJoining:
		return s.announce()
	case member.PhaseMember:
		out := append(s.announce(), s.Work.Releases(&s.Core, s.Log.Value)...)
		out = append(out, s.Work.Steps(&s.Core)...)
		out = append(out, s.shared()...)
		return append(out, s.own()...)
	case member.PhaseLeaving:
		return s.Leaves(s.present())
	default:
	}
	return nil
}

// logged takes in an answer of the log, or a request.
func (s *step) logged(ev member.Event) {
	was := s.Log.Out.Pending
	if err := s.Log.Take(&s.Core, s, ev); err != nil {
		s.Halt(s.Log.Value.Index(), err)
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
