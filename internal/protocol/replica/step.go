package replica

import (
	"github.com/rota-run/rota/internal/protocol/fold"
	"github.com/rota-run/rota/internal/protocol/heartbeat"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/protocol"
)

// State is all that one member knows. It is a value: Step returns another one and shares slices that it does not
// change.
type State struct {
	fold.Reader

	checkSent protocol.Instant

	claim      heartbeat.Observation  // of another start under our name
	heartbeats heartbeat.Observations // of all members
	sweep      call
	check      call

	watching string // key of the heartbeat that the shell watches
}

// call is one kind of store call: at most one is under way.
type call struct {
	busy bool
	next protocol.Instant // not before, unless there is a hint
	rest protocol.Instant // not before, whatever the hint: the last one failed
}

// NewState is a member that has just started.
func NewState(p member.Params) State {
	return State{Reader: fold.Reader{Core: member.NewCore(p, member.Confirm)}}
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
	switch ev := ev.(type) {
	case member.Hinted:
		s.hinted(ev)
	case HeartbeatSeen:
		s.heartbeatSeen(ev)
	case HeartbeatsListed:
		s.heartbeatsListed(ev)
	default:
		if err := s.Log.Take(&s.Core, s, ev); err != nil {
			s.Halt(s.Log.Value.Index(), err)
		}
	}
}

// Advance implements member.Machine.
func (s *step) Advance() {
	s.readLog()
	s.Walk(s)
	s.Renew(protocol.HeartbeatPrefix)
	s.watch()
	s.sweepHeartbeats()
	s.Log.Check(&s.Core)
	if !s.Log.History.Doubted { // else nothing begins, and nothing is said, before the store has said which history it has
		s.assign()
		s.propose()
		s.Log.Save(&s.Core, maxReplay, s.Writes)
	}
	_, in := s.present()
	s.Log.Settle(&s.Core, in)
	s.setWake()
}

// assign gives the supervisor what it should run, from when the member is joined.
func (s *step) assign() {
	if s.In() {
		s.Work.Assign(&s.Core, s.Log.Value)
	}
}

// setWake asks to be woken at the next instant at which something is due.
func (s *step) setWake() {
	w := s.Waking()
	s.Log.Due(&w)
	w.Due(s.sweep.busy, s.sweep.next)
	w.Due(s.check.busy, s.check.next)
	w.Due(s.Own.Busy, s.Own.Next)
	s.WakeAt(w)
}
