package replica

import (
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/protocol/duty"
	"github.com/rota-run/rota/protocol/fold"
	"github.com/rota-run/rota/protocol/heartbeat"
	"github.com/rota-run/rota/protocol/member"
	"github.com/rota-run/rota/protocol/outbox"
)

// Params are what a member's decisions depend on besides what happens. They do not change.
type Params struct {
	member.Params
	// Join is the template of the member's prepare-join; Replaces and Heartbeat are filled in.
	Join cluster.PrepareJoin
	// LogEvery is how often it reads the log without a hint if the store hints, because hints may get lost. 0 means
	// Poll.
	LogEvery time.Duration
	// EndsHinted: the store hints at the end of a heartbeat, so it is read when its next renewal is due, of which the
	// store need not hint.
	EndsHinted bool
	// Polled: the store hints at nothing, so that much time goes by until others know of a death.
	Polled bool
	// SweepInTurn: the store removes the heartbeats of dead members, so that the predecessor in the ring detects a death at once, and sweeps only find
	// what should not happen. All members together then sweep as often as otherwise each of them.
	SweepInTurn bool
	// Restart: the member's own leave announces a restart.
	Restart bool
	// SnapshotEvery is how many entries lie between snapshots.
	SnapshotEvery uint64
}

// State is all that one member knows. It is a value: Step returns another one and shares slices that it does not change.
type State struct {
	member.Core
	p     Params
	value cluster.Value

	joined    bool              // this life has been joined
	derived   duty.Derived      // as of changed
	silent    bool              // there is nothing to say of the duties until they or the reports change
	asked     cluster.Reactions // what the value at index askedAt asks of us
	askedAt   cluster.Index
	checkSent protocol.Instant

	claim      heartbeat.Observation  // of another start under our name
	heartbeats heartbeat.Observations // of all members
	log        fold.Reader
	out        outbox.Box
	sweep      call
	check      call
	holds      duty.Holds
	calm       duty.Calm

	changed  cluster.Index // Reactions.Changed that assigned reflects
	watching string        // key of the heartbeat that the shell watches
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
	return State{Core: member.NewCore(p.Params, member.Confirm), p: p}
}

// Step takes one event in. It is a pure function: the same state and event give the same state and effects.
func Step(s State, ev member.Event) (State, []member.Effect) {
	if s.Over() {
		return s, nil
	}
	st := &step{s}
	st.Begin(ev)
	st.CheckLease()
	st.take(ev)
	if st.Is != member.PhaseHalted {
		st.advance()
	}
	fx := st.End()
	return st.State, fx
}

// step is one call of Step, on a state of its own.
type step struct{ State }

func (s *step) take(ev member.Event) {
	switch ev := ev.(type) {
	case member.Woken:
	case member.Hinted:
		s.hinted(ev)
	case member.Read:
		s.read(ev)
	case member.SnapshotRead:
		s.snapshotRead(ev)
	case member.LogChecked:
		s.logChecked(ev)
	case member.Appended:
		s.appended(ev)
	case member.Renewed:
		s.Renewed(ev)
	case HeartbeatSeen:
		s.heartbeatSeen(ev)
	case HeartbeatsListed:
		s.heartbeatsListed(ev)
	case member.SnapshotSaved:
		s.log.Saved()
	case member.Reported:
		s.Reports, s.Reported, s.silent = ev.Reports, ev.Version, false
	case member.Proposed:
		s.out = s.out.With(outbox.Request{ID: ev.ID, Commands: ev.Commands})
	case member.Closed:
		s.Halt(s.value.Index(), ev.Err)
	case member.Stop:
		s.Leave(s.value.Index(), ev.Reason, s.Is < member.PhaseJoining)
	}
}

// advance does what the state asks for. It is level-triggered: it looks at the state alone, not at what led to it.
func (s *step) advance() {
	s.readLog()
	s.walk()
	s.Renew()
	s.watch()
	s.sweepHeartbeats()
	s.checkLog()
	if !s.log.History.Doubted { // else nothing begins, and nothing is said, before the store has said which history it has
		s.assign()
		s.propose()
		s.saveSnapshot()
	}
	s.settle()
	s.setWake()
}

// reactions is what the value asks of us. Every event asks for it, and only entries change it.
func (s *step) reactions() cluster.Reactions {
	if s.askedAt != s.value.Index() {
		s.asked, s.askedAt = s.value.Reactions(s.Member), s.value.Index()
	}
	return s.asked
}

// setWake asks to be woken at the next instant at which something is due.
func (s *step) setWake() {
	w := s.Waking()
	w.Due(s.log.Busy, s.log.Next)
	w.Due(s.sweep.busy, s.sweep.next)
	w.Due(s.check.busy, s.check.next)
	w.Due(s.Own.Busy, s.Own.Next)
	w.Due(s.out.Busy, s.out.Next)
	s.WakeAt(w)
}

// Hinted sets how often the member reads without a hint: rarely where the store hints. With vanish, the store ends the
// sessions of silent processes.
func (p Params) Hinted(log, heartbeats, vanish bool) Params {
	p.LogEvery, p.EndsHinted, p.SweepInTurn, p.Polled = p.Poll, heartbeats, heartbeats && vanish, !log && !heartbeats
	if log {
		p.LogEvery = max(p.Poll, p.TTL*2/5)
	}
	return p
}
