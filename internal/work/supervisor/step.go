package supervisor

import (
	"slices"
	"strings"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/journal"
	"github.com/rota-run/rota/protocol"
)

// StepConfig is the constant part of a State.
type StepConfig struct {
	Member cluster.MemberID
	Types  []StepType
	Grace  time.Duration // how long a stopped run may take to return; 0 means DefaultGrace
	Seed   uint64        // of the jitter of back-offs
}

// StepType is the part of a task type that Step uses.
type StepType struct {
	Name string
	// MaxRuns bounds the concurrent runs of the type; 0 means no bound. Rounds of periodic types are bounded elsewhere.
	MaxRuns int
}

// DefaultGrace is how long a run may continue after its ctx has ended before that is journaled.
const DefaultGrace = 10 * time.Second

// State is the supervisor's state: which partitions it wants, which it runs, and what it has reported. Step changes it
// in place, and it belongs to one caller at a time. Equal event sequences give equal effects.
type State struct {
	conf  StepConfig
	types map[string]*typeState

	order []*part // sorted by partition; may hold dropped ones until the step ends

	now        protocol.Instant
	assigned   bool // there was an assignment
	version    uint64
	validUntil protocol.Instant
	valid      bool
	shutdown   bool
	ended      bool

	timers   timerHeap
	timerSeq uint64
	wakeAt   protocol.Instant
	active   int  // runs that are waited for
	dropped  bool // order holds dropped parts
	dirty    bool // reports differ from those told
	effects  []Effect
}

// NewState returns the state of a supervisor before its first event.
func NewState(c StepConfig) *State {
	if c.Grace <= 0 {
		c.Grace = DefaultGrace
	}
	s := &State{conf: c, types: map[string]*typeState{}}
	for _, t := range c.Types {
		s.types[t.Name] = &typeState{max: t.MaxRuns}
	}
	return s
}

// Step handles events, in order, and returns the effects of all of them. An assignment whose Version is known, and a
// Tick with nothing due, cost O(1); a new Version costs O(grants); other events cost what they touch, and O(runs) if
// reports change.
func Step(s *State, events ...Event) []Effect {
	s.effects = nil
	for _, e := range events {
		s.now = max(s.now, e.now())
		s.take(e)
		s.checkLease()
		s.fireTimers()
	}
	s.sweep()
	s.tell()
	s.arm()
	return s.effects
}

func (s *State) take(e Event) {
	switch e := e.(type) {
	case Assigned:
		// An expired lease ends before the grants are applied, and a renewed one counts after them: nothing starts
		// under old grants.
		if s.validUntil = e.Assignment.ValidUntil; s.now >= s.validUntil {
			s.checkLease()
		}
		s.assign(e.Assignment)
	case Lease:
		s.validUntil = e.Until
	case Exited:
		lost := s.valid && s.now >= s.validUntil
		s.valid = s.valid && !lost // the room that the run leaves is not for grants whose lease has expired meanwhile
		s.exited(e)
		if lost {
			s.reconcileAll()
		}
	case Shutdown:
		s.shutDown()
	case Tick: // time alone
	}
}

// checkLease notices that the lease has expired or is valid again, and then checks every partition.
func (s *State) checkLease() {
	valid := s.assigned && s.now < s.validUntil
	if valid == s.valid {
		return
	}
	s.valid = valid
	s.reconcileAll()
}

func (s *State) shutDown() {
	if s.shutdown {
		return
	}
	s.shutdown = true
	for _, p := range s.order {
		switch p.phase {
		case phaseStopping: // it may have used up its grace already
			s.setTimer(p, s.conf.Grace)
		case phaseBackoff, phaseQueued:
			p.phase, p.timer = phaseIdle, 0
		}
	}
	s.reconcileAll()
}

func (s *State) reconcileAll() {
	for _, p := range s.order {
		s.reconcile(p)
	}
	for _, t := range s.conf.Types {
		s.pump(s.types[t.Name])
	}
}

// fireTimers handles ended back-offs and grace periods.
func (s *State) fireTimers() {
	for len(s.timers) > 0 && s.timers[0].at <= s.now {
		t := s.timers.pop()
		if t.p.timer != t.seq {
			continue
		}
		t.p.timer = 0
		switch t.p.phase {
		case phaseBackoff:
			t.p.waited = true
			t.p.phase = phaseIdle
			s.reconcile(t.p)
		case phaseStopping:
			s.ignoresCancel(t.p)
		}
	}
}

// sweep takes dropped parts out of the order.
func (s *State) sweep() {
	if !s.dropped {
		return
	}
	s.dropped = false
	kept := s.order[:0]
	for _, p := range s.order {
		if p.phase != phaseGone {
			kept = append(kept, p)
		}
	}
	clear(s.order[len(kept):])
	s.order = kept
}

// part finds a partition; nil for none.
func (s *State) part(id cluster.PartitionID) *part {
	i, ok := slices.BinarySearchFunc(s.order, id,
		func(p *part, id cluster.PartitionID) int { return strings.Compare(string(p.id), string(id)) })
	if !ok || s.order[i].phase == phaseGone {
		return nil
	}
	return s.order[i]
}

// tell emits the reports if they, or the version that they are based on, changed.
func (s *State) tell() {
	if s.dirty {
		s.dirty = false
		reports := make([]protocol.Report, 0, len(s.order))
		for _, p := range s.order {
			if p.told {
				reports = append(reports, p.report)
			}
		}
		s.do(Report{Version: s.version, Reports: reports})
	}
	if s.shutdown && s.active == 0 && !s.ended {
		s.ended = true
		s.do(Ended{})
	}
}

// arm requests the next Tick: at the end of the lease, of a back-off or of a grace period.
func (s *State) arm() {
	for len(s.timers) > 0 && s.timers[0].p.timer != s.timers[0].seq {
		s.timers.pop()
	}
	var at protocol.Instant
	if s.valid {
		at = s.validUntil
	}
	if len(s.timers) > 0 && (at == 0 || s.timers[0].at < at) {
		at = s.timers[0].at
	}
	if at != s.wakeAt {
		s.wakeAt = at
		s.do(WakeAt{At: at})
	}
}

func (s *State) do(e Effect) { s.effects = append(s.effects, e) }

func (s *State) journal(r journal.Record) { s.do(Journal{Record: r}) }
