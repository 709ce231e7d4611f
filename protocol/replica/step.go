package replica

import (
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/protocol/duty"
	"github.com/rota-run/rota/protocol/heartbeat"
	"github.com/rota-run/rota/protocol/history"
	"github.com/rota-run/rota/protocol/outbox"
)

// Params are what a member's decisions depend on besides what happens. They do not change.
type Params struct {
	// Join is the template of the member's prepare-join; Replaces and Heartbeat are filled in.
	Join cluster.PrepareJoin
	// Nonce tells this start of the process from all others: it is part of the writer's ID and of the heartbeat's key.
	Nonce string
	// TTL is how long others wait when this member is silent, and it waits for one that does not state its own.
	TTL time.Duration
	// Rho is the bound on the error of a clock's rate, in thousandths.
	Rho int64
	// Margin is what a holder stops earlier than it must, for the time between looking at the clock and acting.
	Margin time.Duration
	// Poll is how often log and successor are looked at where nothing tells of changes, and the pause behind what failed.
	Poll time.Duration
	// LogEvery and HeartbeatEvery are how often they are looked at without a hint, where the store hints: hints may get lost. 0 stands for Poll.
	LogEvery, HeartbeatEvery time.Duration
	// SweepInTurn: heartbeats of the dead vanish by themselves, so that whoever comes next in the ring finds them at once, and a sweep is only for what
	// should not be. All members together sweep as often as else each of them.
	SweepInTurn bool
	// Hold is how long grants are kept for an announced restart.
	Hold time.Duration
	// Restart: the member's own leave announces a restart.
	Restart bool
	// SnapshotEvery is how many entries lie between snapshots.
	SnapshotEvery uint64
}

// phase is where this start of the member stands.
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
	ready cluster.Index // head seen at the start
	began bool          // ready is known
	inc   cluster.Incarnation
	life  uint64 // how many times it joined; part of the heartbeat's key
	stop  string // reason to leave; "" while it stays

	joined    bool // this life has been joined
	lastSnap  cluster.Index
	duties    []cluster.Duty    // as of changed
	asked     cluster.Reactions // what the value at index askedAt asks of us
	askedAt   cluster.Index
	checkSent protocol.Instant

	claim      heartbeat.Observation // of another start under our name
	renewal    renewal
	heartbeats heartbeat.Observations // of all members
	history    history.History        // of what was applied
	log        logReader
	out        outbox.Box
	sweep      call
	check      call
	snapshot   call
	snapAt     uint64        // entries applied at the last snapshot
	cost       int           // of replaying what was applied since the last snapshot
	even       cluster.Value // the newest one passed in this step that a snapshot can be taken of
	evenCost   int           // cost when it was passed
	holds      []holdSeen
	calm       duty.Calm

	reports  []protocol.Report
	reported uint64 // Assignment.Version that reports reflect
	assigned protocol.Assignment
	changed  cluster.Index // Reactions.Changed that assigned reflects
	wake     protocol.Instant
	watching string // key of the heartbeat that the shell watches
	problem  string // why the store does not answer; "" while it does
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
func Step(s State, ev Event) (State, []Effect) {
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
	fx []Effect
}

func (s *step) emit(e Effect) { s.fx = append(s.fx, e) }

func (s *step) take(ev Event) {
	switch ev := ev.(type) {
	case Woken:
	case Hinted:
		s.hinted(ev)
	case Read:
		s.read(ev)
	case SnapshotRead:
		s.snapshotRead(ev)
	case LogChecked:
		s.logChecked(ev)
	case Appended:
		s.appended(ev)
	case Renewed:
		s.renewed(ev)
	case HeartbeatSeen:
		s.heartbeatSeen(ev)
	case HeartbeatsListed:
		s.heartbeatsListed(ev)
	case SnapshotSaved:
		s.snapshot.busy = false
	case Reported:
		s.reports, s.reported = ev.Reports, ev.Version
	case Proposed:
		s.proposed(ev)
	case Closed:
		s.halt(ev.Err)
	case Stop:
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
	if !s.history.Doubted { // else nothing begins, and nothing is said, before the store has said which history it has
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
	s.emit(Halt{Err: err})
}

// revoke takes all grants away from the supervisor.
func (s *step) revoke(lease protocol.Instant) {
	if len(s.assigned.Grants) == 0 && s.assigned.ValidUntil == lease && s.assigned.Version > 0 {
		return
	}
	s.assigned = protocol.Assignment{Index: s.value.Index(), Version: s.assigned.Version + 1, ValidUntil: lease}
	s.emit(Assign{Assignment: s.assigned})
}

// idle tells whether nothing runs here and nothing will be started under grants that were taken away.
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
	due(s.log.call)
	due(s.sweep)
	due(s.check)
	due(call{busy: s.renewal.busy, next: s.renewal.Next})
	due(call{busy: s.out.Busy, next: s.out.Next})
	if next != s.wake {
		s.wake = next
		s.emit(WakeAt{At: next})
	}
}

// Told fills in how often is looked without a hint: seldom at what the store tells of by itself. That is a bit more than the time between two
// renewals of a heartbeat, each of which is a hint. With vanish, the store ends the sessions of silent processes.
func (p Params) Told(log, heartbeats, vanish bool) Params {
	p.LogEvery, p.HeartbeatEvery, p.SweepInTurn = p.Poll, p.Poll, heartbeats && vanish
	if log {
		p.LogEvery = max(p.Poll, p.TTL*2/5)
	}
	if heartbeats {
		p.HeartbeatEvery = max(p.Poll, p.TTL*2/5)
	}
	return p
}
