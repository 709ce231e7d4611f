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
	// Join is the template of the member's prepare-join; Replaces and Heartbeat are filled in.
	Join cluster.PrepareJoin
	// Nonce distinguishes this start of the process from all others: it is part of the writer's ID and of the heartbeat's key.
	Nonce string
	// TTL is how long others wait when this member is silent. This member waits as long for one that states no TTL.
	TTL time.Duration
	// Longest is the longest TTL that it states while its renewals are slow; see [heartbeat.Pace]. 0: always TTL.
	Longest time.Duration
	// Rho is the bound on the error of a clock's rate, in thousandths.
	Rho int64
	// Margin is what a holder stops earlier than it must, for the time between looking at the clock and acting.
	Margin time.Duration
	// Poll is how often the member reads the log and its successor's heartbeat if the store does not hint, and the pause after a failure.
	Poll time.Duration
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
	// Hold is how long grants are kept for an announced restart.
	Hold time.Duration
	// Restart: the member's own leave announces a restart.
	Restart bool
	// SnapshotEvery is how many entries lie between snapshots.
	SnapshotEvery uint64
}

// phase is how far this start of the member is.
type phase uint8

const (
	phaseReading   phase = iota // folding the log up to the head seen at the start: no effects before
	phaseClaim                  // making sure that no other live process has our name
	phaseHeartbeat              // the heartbeat is being written for the first time
	phaseJoin                   // prepare-join is to be written, or is under way
	phaseMember                 // prepared or joined
	phaseConfirm                // its lease has expired: it must not go on before the cluster has confirmed it under a new heartbeat
	phaseRemoved                // found itself removed: waits for its work to stop, then rejoins
	phaseLeaving                // stops its work, then writes its own leave
	phaseGone                   // over, in order
	phaseHalted                 // over, because going on would be wrong
)

// State is all that one member knows. It is a value: Step returns another one and shares slices that it does not change.
type State struct {
	p     Params
	phase phase
	now   protocol.Instant
	value cluster.Value
	inc   cluster.Incarnation
	life  uint64 // how many times it joined; part of the heartbeat's key
	stop  string // reason to leave; "" while it stays

	joined    bool              // this life has been joined
	derived   duty.Derived      // as of changed
	silent    bool              // there is nothing to say of the duties until they or the reports change
	asked     cluster.Reactions // what the value at index askedAt asks of us
	askedAt   cluster.Index
	checkSent protocol.Instant

	claim      heartbeat.Observation // of another start under our name
	renewal    renewal
	pace       heartbeat.Pace
	heartbeats heartbeat.Observations // of all members
	log        fold.Reader
	out        outbox.Box
	sweep      call
	check      call
	holds      duty.Holds
	calm       duty.Calm

	reports  []protocol.Report
	reported uint64 // Assignment.Version that reports reflect
	assigned protocol.Assignment
	changed  cluster.Index // Reactions.Changed that assigned reflects
	wake     protocol.Instant
	watching string // key of the heartbeat that the shell watches
	contact  member.Contact
}

// call is one kind of store call: at most one is under way.
type call struct {
	busy bool
	next protocol.Instant // not before, unless there is a hint
	rest protocol.Instant // not before, whatever the hint: the last one failed
}

// NewState is a member that has just started.
func NewState(p Params) State {
	return State{p: p, wake: -1}
}

// Step takes one event in. It is a pure function: the same state and event give the same state and effects.
func Step(s State, ev member.Event) (State, []member.Effect) {
	st := &step{State: s}
	if s.phase == phaseGone || s.phase == phaseHalted {
		return s, nil
	}
	st.now = max(s.now, ev.At())
	st.checkLease()
	st.take(ev)
	if st.phase != phaseHalted {
		st.advance()
	}
	return st.State, st.fx
}

// step is one call of Step: a state of our own and the effects so far.
type step struct {
	State
	fx []member.Effect
}

func (s *step) emit(e member.Effect) { s.fx = append(s.fx, e) }

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
		s.renewed(ev)
	case HeartbeatSeen:
		s.heartbeatSeen(ev)
	case HeartbeatsListed:
		s.heartbeatsListed(ev)
	case member.SnapshotSaved:
		s.log.Saved()
	case member.Reported:
		s.reports, s.reported, s.silent = ev.Reports, ev.Version, false
	case member.Proposed:
		s.out = s.out.With(outbox.Request{ID: ev.ID, Commands: ev.Commands})
	case member.Closed:
		s.halt(ev.Err)
	case member.Stop:
		s.leave(ev.Reason)
	}
}

// advance does what the state asks for. It is level-triggered: it looks at the state alone, not at what led to it.
func (s *step) advance() {
	s.readLog()
	s.walk()
	s.renew()
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
		s.asked, s.askedAt = s.value.Reactions(s.self()), s.value.Index()
	}
	return s.asked
}

// halt ends the member because going on would be wrong. Its work stops at once.
func (s *step) halt(err error) {
	if s.phase == phaseHalted {
		return
	}
	s.phase = phaseHalted
	s.revoke(0)
	s.emit(member.Halt{Err: err})
}

// revoke takes all grants away from the supervisor.
func (s *step) revoke(lease protocol.Instant) {
	if len(s.assigned.Grants) == 0 && s.assigned.ValidUntil == lease && s.assigned.Version > 0 {
		return
	}
	s.assigned = protocol.Assignment{Index: s.value.Index(), Version: s.assigned.Version + 1, ValidUntil: lease}
	s.emit(member.Assign{Assignment: s.assigned})
}

// idle reports whether nothing runs here and nothing will be started under grants that were taken away.
func (s *step) idle() bool {
	return len(s.assigned.Grants) == 0 && len(s.reports) == 0 && s.reported >= s.assigned.Version
}

// setWake asks to be woken at the next instant at which something is due.
func (s *step) setWake() {
	next := s.now.Add(s.p.Poll)
	due := func(c call) {
		if !c.busy && c.next > s.now && c.next < next {
			next = c.next
		}
	}
	due(call{busy: s.log.Busy, next: s.log.Next})
	due(s.sweep)
	due(s.check)
	due(call{busy: s.renewal.Busy, next: s.renewal.Next})
	due(call{busy: s.out.Busy, next: s.out.Next})
	if next != s.wake {
		s.wake = next
		s.emit(member.WakeAt{At: next})
	}
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
