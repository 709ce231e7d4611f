package sync

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
	// Join is what the member says of itself to the group.
	Join cluster.PrepareJoin
	// Nonce distinguishes this start of the process from all others: it is part of the writer's ID.
	Nonce string
	// TTL is how long the group keeps a member that is silent, and waits for one that must join again.
	TTL time.Duration
	// Longest is the longest TTL that a membership gets after others were lost; see [heartbeat.Pace]. 0: always TTL.
	Longest time.Duration
	// Rho is the bound on the error of a clock's rate, in thousandths.
	Rho int64
	// Margin is what a member stops earlier than it must, for the time between looking at the clock and acting.
	Margin time.Duration
	// Poll is how often the log is looked at where nothing hints, the pause after what failed, and how long a leader waits for more members before it
	// announces an epoch.
	Poll time.Duration
	// LogEvery is how often the log is looked at without a hint, where the store hints: hints may get lost. 0 stands for Poll.
	LogEvery time.Duration
	// Hold is how long grants are kept for an announced restart.
	Hold time.Duration
	// Restart: the member's own leave announces a restart.
	Restart bool
	// SnapshotEvery is how many entries lie between snapshots.
	SnapshotEvery uint64
}

// timing is what the lease goes by. Its watcher is the group, which keeps a member for the TTL at least.
func (p Params) timing() heartbeat.Timing {
	return heartbeat.Timing{TTL: p.TTL, Longest: p.Longest, Rho: p.Rho, Margin: p.Margin}
}

// Hinted fills in how often is looked without a hint.
func (p Params) Hinted(log bool) Params {
	p.LogEvery = p.Poll
	if log {
		p.LogEvery = max(p.Poll, p.TTL*2/5)
	}
	return p
}

// phase is how far this start of the member has come.
type phase uint8

const (
	phaseReading phase = iota // folding the log up to the head seen at the start: prepared before joining
	phaseWaiting              // joins the group, and waits for an epoch that names it
	phaseMember               // in the epoch
	phaseRemoved              // found itself removed: waits for its work to stop, then joins again
	phaseLeaving              // stops its work, then writes its own leave
	phaseGone                 // over, in order
	phaseHalted               // over, because going on would be wrong
)

// State is all that one member knows. It is a value: Step returns another one and shares slices that it does not change.
type State struct {
	p       Params
	phase   phase
	now     protocol.Instant
	value   cluster.Value
	epochAt protocol.Instant // when the present epoch was applied
	inc     cluster.Incarnation
	stop    string // reason to leave; "" while it stays
	passed  protocol.Instant

	group    group
	pace     heartbeat.Pace
	derived  duty.Derived      // as of changed
	silent   bool              // there is nothing to say of the duties until they or the reports change
	asked    cluster.Reactions // what the value at index askedAt asks of us
	askedAt  cluster.Index
	shares   []cluster.Share // as of sharedAt
	sharedAt cluster.Index
	told     told
	rest     protocol.Instant // something of ours was refused: no epoch and no share before

	log   fold.Reader
	out   outbox.Box
	holds duty.Holds
	calm  duty.Calm

	reports  []protocol.Report
	reported uint64 // Assignment.Version that reports reflect
	assigned protocol.Assignment
	changed  cluster.Index // Reactions.Changed that assigned reflects
	wake     protocol.Instant
	contact  member.Contact
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
	was, _ := s.value.Epoch()
	st.take(ev)
	if now, _ := st.value.Epoch(); now != was {
		st.epochAt = st.now
	}
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
		s.log.Hint = true
	case member.Read:
		s.read(ev)
	case member.SnapshotRead:
		s.snapshotRead(ev)
	case member.Appended:
		s.appended(ev)
	case member.LogChecked:
		s.logChecked(ev)
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
	default:
		s.heardGroup(ev)
	}
}

// advance does what the state asks for. It is level-triggered: it looks at the state alone, not at what led to it.
func (s *step) advance() {
	s.readLog()
	s.walk()
	s.keepGroup()
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
	due := func(busy bool, at protocol.Instant) {
		if !busy && at > s.now && at < next {
			next = at
		}
	}
	due(s.log.Busy, s.log.Next)
	due(s.group.busy, s.group.next)
	due(s.out.Busy, s.out.Next)
	if next != s.wake {
		s.wake = next
		s.emit(member.WakeAt{At: next})
	}
}
