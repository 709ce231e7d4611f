package replica

import (
	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/duty"
	"github.com/rota-run/rota/internal/protocol/fold"
	"github.com/rota-run/rota/internal/protocol/heartbeat"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/protocol"
)

// Params are what a member's decisions depend on besides what happens. They do not change.
type Params struct {
	member.Params
	hints
}

// hints are what the store hints at.
type hints struct {
	// endsHinted: at the end of a heartbeat, so it is read when its next renewal is due, of which the store need not hint.
	endsHinted bool
	// polled: at nothing, so that much time goes by until others know of a death.
	polled bool
	// sweepInTurn: the store removes the heartbeats of dead members, so that the predecessor in the ring detects a death at once, and sweeps only find
	// what should not happen. All members together then sweep as often as otherwise each of them.
	sweepInTurn bool
}

// State is all that one member knows. It is a value: Step returns another one and shares slices that it does not change.
type State struct {
	member.Core
	p    hints
	log  fold.Ledger
	work duty.Work

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
func NewState(p Params) State {
	p.Member = p.Join.Member
	return State{Core: member.NewCore(p.Params, member.Confirm), p: p.hints}
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
	switch ev := ev.(type) {
	case member.Hinted:
		s.hinted(ev)
	case HeartbeatSeen:
		s.heartbeatSeen(ev)
	case HeartbeatsListed:
		s.heartbeatsListed(ev)
	default:
		if err := s.log.Take(&s.Core, s, ev); err != nil {
			s.Halt(s.log.Value.Index(), err)
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
	s.log.Check(&s.Core)
	if !s.log.History.Doubted { // else nothing begins, and nothing is said, before the store has said which history it has
		s.assign()
		s.propose()
		s.log.Save(&s.Core, maxReplay, s.writes)
	}
	_, in := s.present()
	s.log.Settle(&s.Core, in)
	s.setWake()
}

// assign gives the supervisor what it should run, from when the member is joined.
func (s *step) assign() {
	if s.Is == member.PhaseMember && s.Joined {
		s.work.Assign(&s.Core, s.log.Value)
	}
}

// setWake asks to be woken at the next instant at which something is due.
func (s *step) setWake() {
	w := s.Waking()
	s.log.Due(&w)
	w.Due(s.sweep.busy, s.sweep.next)
	w.Due(s.check.busy, s.check.next)
	w.Due(s.Own.Busy, s.Own.Next)
	s.WakeAt(w)
}

// Hinted says what the store hints at. With vanish, it ends the sessions of silent processes.
func (p Params) Hinted(log, heartbeats, vanish bool) Params {
	p.Params = p.Params.Hinted(log)
	p.hints = hints{endsHinted: heartbeats, sweepInTurn: heartbeats && vanish, polled: !log && !heartbeats}
	return p
}
