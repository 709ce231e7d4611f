package lease

import (
	"strconv"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/protocol/heartbeat"
	"github.com/rota-run/rota/protocol/member"
	"github.com/rota-run/rota/store"
)

// Params are what a member's decisions depend on besides what happens. They do not change.
type Params struct {
	// Join is the template of the member's prepare-join; Replaces and Heartbeat are filled in.
	Join cluster.PrepareJoin
	// Nonce tells this start of the process from all others: it is part of its sessions and of the names of its writes.
	Nonce string
	// TTL is how long others wait when this member is silent, and it waits for one that does not state its own.
	TTL time.Duration
	// Longest is the longest TTL that it states while its renewals are slow; see [heartbeat.Pace]. 0: always TTL.
	Longest time.Duration
	// Rho is the bound on the error of a clock's rate, in thousandths.
	Rho int64
	// Margin is what a holder stops earlier than it must, for the time between looking at the clock and acting.
	Margin time.Duration
	// Poll is how often the board is read and, by the leader, all partitions.
	Poll time.Duration
	// Polled: the store hints at nothing, so that much time goes by until others know of a death.
	Polled bool
	// Patience is how long a partition is free before others than the first may claim it.
	Patience time.Duration
	// Hold is how long grants are kept for an announced restart.
	Hold time.Duration
	// Seed makes the pauses between claims different for each member.
	Seed uint64
}

// phase is where this start of the member is.
type phase uint8

const (
	phaseName    phase = iota // making sure that no other live process has our name
	phaseBeat                 // the heartbeat is being written for the first time
	phaseJoin                 // the Node List is to be written
	phaseMember               // joined
	phaseRemoved              // its session has ended: waits for its work to stop, then joins again in another session
	phaseLeaving              // stops its work, then writes that it has left
	phaseGone                 // over, in order
	phaseHalted               // over, because going on would be wrong
)

// State is all that one member knows. It is a value: Step returns another one and shares slices that it does not change.
type State struct {
	p      Params
	phase  phase
	now    protocol.Instant
	wallMS int64 // newest wall clock that was read, for people
	life   uint64
	inc    cluster.Incarnation
	stop   string
	value  cluster.Value // the newest view, or as the leader has assembled it
	known  *facts        // documents as they were read last, decoded; nobody changes them
	nextID uint64        // of calls and writes
	random uint64

	beat  beat
	pace  heartbeat.Pace
	name  nameCheck
	look  look
	lead  lead
	tries []try
	held  []held // by partition: what this session has claimed, as acknowledged
	shuns []shun

	claimRest protocol.Instant // no claim before
	queue     []request
	deeds     []protocol.Deed

	watched []string

	reports  []protocol.Report
	reported uint64
	assigned protocol.Assignment
	wake     protocol.Instant
	contact  member.Contact
}

// call is one kind of store call: at most one is under way.
type call struct {
	busy bool
	id   uint64
	next protocol.Instant // not before
}

// due tells whether it is time for a call.
func (c call) due(now protocol.Instant) bool { return !c.busy && now >= c.next }

// NewState is a member that has just started.
func NewState(p Params) State { return State{p: p, wake: -1, random: p.Seed | 1, known: &facts{}} }

// Step takes one event in. It is a pure function: the same state and event give the same state and effects.
func Step(s State, ev member.Event) (State, []member.Effect) {
	if s.phase == phaseGone || s.phase == phaseHalted {
		return s, nil
	}
	st := &step{State: s}
	st.now = max(s.now, ev.At())
	st.checkLease()
	st.take(ev)
	if st.phase != phaseHalted {
		st.advance()
	}
	return st.State, st.fx
}

// learn decodes what was read for a pass or a command. What it has in common with the reads to come is kept decoded; a leader keeps its last pass.
func (s *step) learn(docs []store.Doc) *facts {
	f := s.known.learn(docs)
	if !s.lead.holds {
		s.known = f
	}
	return f
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
	case Fetched:
		s.wallMS = max(s.wallMS, ev.WallMS)
		s.fetched(ev)
	case Surveyed:
		s.wallMS = max(s.wallMS, ev.WallMS)
		s.surveyed(ev)
	case Written:
		s.written(ev)
	case Renewed:
		s.renewed(ev)
	case ViewRead:
		s.viewRead(ev)
	case Shown:
		s.shown(ev)
	case member.Reported:
		s.reports, s.reported = ev.Reports, ev.Version
	case member.Proposed:
		s.proposed(ev)
	case member.Closed:
		s.halt(ev.Err)
	case member.Stop:
		s.leave(ev.Reason)
	}
}

// fetched gives an answer to whoever has asked.
func (s *step) fetched(ev Fetched) {
	s.answered(ev.Err)
	switch ev.ID {
	case s.beat.read.id:
		s.beatRead(ev)
	case s.name.id:
		s.nameRead(ev)
	case s.look.id:
		s.looked(ev)
	case s.look.own.id:
		s.ownRead(ev)
	default:
		s.tryFetched(ev)
	}
}

// written gives an answer to whoever has written.
func (s *step) written(ev Written) {
	s.answeredWrite(ev.Err, ev.Outcome == Done)
	switch ev.ID {
	case s.name.fence.id:
		s.name.fence, s.name.next = call{}, s.now.Add(s.pause(ev.Outcome != Done))
	case s.look.lock.id:
		s.look.lock = call{next: s.now.Add(s.pause(ev.Outcome != Done))}
		s.look.next = s.now
	default:
		if !s.leadWritten(ev) {
			s.tryWritten(ev)
		}
	}
}

// pause is how long to wait after a call.
func (s *step) pause(failed bool) time.Duration {
	if failed {
		return s.p.Poll
	}
	return 0
}

// advance does what the state asks for. It is level-triggered: it looks at the state alone, not at what led to it.
func (s *step) advance() {
	s.walk()
	s.renew()
	s.watch()
	s.lookAround()
	s.leadOn()
	s.assign()
	s.claimSome()
	s.tell()
	s.advanceTries()
	s.settle()
	s.report()
	s.setWake()
}

// report tells what own commands did.
func (s *step) report() {
	if len(s.deeds) > 0 {
		s.emit(member.Applying{Value: s.value, Deeds: s.deeds})
		s.deeds = nil
	}
}

// id is a fresh number of a call.
func (s *step) id() uint64 {
	s.nextID++
	return s.nextID
}

// writeName names one write of this start of the process, so that it can be told from all others when it is read back.
func (s *step) writeName() string {
	return string(s.self()) + "-" + s.p.Nonce + "-" + strconv.FormatUint(s.id(), 10)
}

// fetch begins to read documents.
func (s *step) fetch(c *call, keys ...string) {
	c.busy, c.id = true, s.id()
	s.emit(Fetch{ID: c.id, Keys: keys})
}

// write begins to write a document.
func (s *step) write(c *call, d store.Doc) {
	c.busy, c.id = true, s.id()
	s.emit(Write{ID: c.id, Doc: d})
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

// idle tells whether nothing runs here and nothing will be started under grants that were taken away.
func (s *step) idle() bool {
	return len(s.assigned.Grants) == 0 && len(s.reports) == 0 && s.reported >= s.assigned.Version
}

// answered notes what a read has shown of the store.
func (s *step) answered(err string) { s.contact, s.fx = s.contact.Read(s.fx, err) }

// answeredWrite notes what a write has shown of the store.
func (s *step) answeredWrite(err string, done bool) {
	s.contact, s.fx = s.contact.Wrote(s.fx, err, done)
}

// timing is what our own lease goes by.
func (p Params) timing() heartbeat.Timing {
	return heartbeat.Timing{TTL: p.TTL, Longest: p.Longest, Rho: p.Rho, Margin: p.Margin}
}

// setWake asks to be woken at the next instant at which something is due.
func (s *step) setWake() {
	next := s.now.Add(s.p.Poll)
	due := func(at protocol.Instant) {
		if at > s.now && at < next {
			next = at
		}
	}
	if !s.beat.Busy {
		due(s.beat.Next)
	}
	for _, c := range [...]call{s.look.call, s.lead.call, s.name.call} {
		if !c.busy {
			due(c.next)
		}
	}
	due(s.claimRest)
	for _, t := range s.tries {
		due(t.next)
	}
	if next != s.wake {
		s.wake = next
		s.emit(member.WakeAt{At: next})
	}
}

// pick is a pause of up to a duration, as random as the seed.
func (s *step) pick(top time.Duration) time.Duration {
	s.random ^= s.random << 13
	s.random ^= s.random >> 7
	s.random ^= s.random << 17
	return time.Duration(s.random % uint64(max(1, top))) //nolint:gosec // not negative
}
