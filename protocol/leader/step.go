package leader

import (
	"slices"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/protocol/elect"
	"github.com/rota-run/rota/protocol/heartbeat"
	"github.com/rota-run/rota/protocol/member"
	"github.com/rota-run/rota/protocol/outbox"
)

// Params are what a member's decisions depend on besides what happens. They do not change.
type Params struct {
	Member cluster.MemberID
	Join   Admission
	// Nonce tells this start of the process from all others.
	Nonce string
	// TTL is how long others wait when this member is silent, and it waits for one that does not state its own.
	TTL time.Duration
	// Longest is the longest TTL that it states while its renewals are slow; see [heartbeat.Pace]. 0: always TTL.
	Longest time.Duration
	// Rho is the bound on the error of a clock's rate, in thousandths.
	Rho int64
	// Margin is what a holder stops earlier than it must, for the time between looking at the clock and acting.
	Margin time.Duration
	// Poll is how often everything is looked at where the store does not hint, and the pause behind what failed.
	Poll time.Duration
	// Hints: the store hints at changes, so that looks without a hint are rare. Vanish: heartbeats of silent processes vanish by themselves too.
	Hints, Vanish bool
	// Offer is how long the leader waits for the answer to an offer, by its own clock.
	Offer time.Duration
	// Hold is how long grants are kept for an announced restart.
	Hold time.Duration
	// StandBys is how many members besides the leader fold the log.
	StandBys int
	// Whole: this member folds the log whatever it is, since what runs on it looks at the whole value.
	Whole bool
	// Audit: the leader compares assignments as they are in the store with what it wrote. Without it, what somebody else has changed is found when its value
	// changes, or when another leader begins.
	Audit bool
	// SnapshotEvery is how many entries lie between snapshots.
	SnapshotEvery uint64
}

// phase is where this start of the member is.
type phase uint8

const (
	phaseClaim     phase = iota // making sure that no other live process has our name
	phaseHeartbeat              // the heartbeat is being written for the first time
	phaseJoin                   // the mailbox asks to join
	phaseMember                 // joined
	phaseConfirm                // its lease has expired: it must not go on before the leader has confirmed it under a new heartbeat
	phaseRemoved                // found itself removed: waits for its work to stop, then joins again
	phaseLeaving                // stops its work, then asks to leave
	phaseGone                   // over, in order
	phaseHalted                 // over, because going on would be wrong
)

// State is all that one member knows. It is a value: Step returns another one and shares what it does not change.
type State struct {
	p     Params
	phase phase
	now   protocol.Instant
	life  uint64 // how many times it joined; part of the heartbeat's key
	stop  string // reason to leave; "" while it stays

	inc        cluster.Incarnation
	admitted   cluster.Index // the incarnation in which it joined: tokens of before are of another membership
	claims     heartbeat.Observations
	renewal    renewal
	pace       heartbeat.Pace
	mailbox    mailbox
	head       head
	slots      tree[held] // what is assigned to this member, by task
	fetch      []fetch    // assignments that are to be read
	roster     roster
	light      *cluster.Value // what a member has that does not fold
	asks       asks
	fold       folding
	vote       vote
	rule       rule
	heartbeats heartbeat.Observations // of the members, for those that fold
	swept      protocol.Instant
	probing    []probe // heartbeats that are being read

	reports  []protocol.Report
	reported uint64 // Assignment.Version that reports reflect
	assigned protocol.Assignment
	changed  bool // the slots differ from what is assigned
	watching string
	wake     protocol.Instant
	busy     []string // keys and prefixes with a call under way, sorted
	rest     protocol.Instant
	contact  member.Contact
}

// renewal is the state of our own heartbeat, in this life.
type renewal struct {
	heartbeat.Lease
	heartbeat.Asking
	key  string
	over bool // it was refused while we leave
}

// vote is what the member knows of who leads.
type vote struct {
	elect.Election
	look
	holder Holder
	turn   protocol.Instant // a document that cannot be read is read again
}

// NewState is a member that has just started.
func NewState(p Params) State {
	return State{p: p, wake: -1, light: &cluster.Value{}, fold: folding{value: &cluster.Value{}}, asks: asks{Box: outbox.Box{Limit: maxAsk}}}
}

// Step takes one event in. It is a pure function: the same state and event give the same state and effects.
func Step(s State, ev member.Event) (State, []member.Effect) {
	if s.phase == phaseGone || s.phase == phaseHalted {
		return s, nil
	}
	st := &step{State: s}
	st.now = max(s.now, ev.At())
	st.checkLease()
	st.take(ev)
	if st.phase != phaseHalted && st.phase != phaseGone {
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

func (s *step) self() cluster.MemberID { return s.p.Member }

func (s *step) take(ev member.Event) {
	switch ev := ev.(type) {
	case member.Woken:
	case member.Hinted:
		s.hinted(ev.Prefix)
	case member.Read:
		s.read(ev)
	case member.SnapshotRead:
		s.snapshotRead(ev)
	case member.LogChecked:
		s.logChecked(ev)
	case member.SnapshotSaved:
		s.fold.Saved()
	case member.Appended:
		s.appended(ev)
	case member.Renewed:
		s.renewed(ev)
	case Got:
		s.got(ev)
	case Listed:
		s.listed(ev)
	case Wrote:
		s.wrote(ev)
	case member.Reported:
		s.reports, s.reported = ev.Reports, ev.Version
	case member.Proposed:
		s.asks.Box = s.asks.With(outbox.Request{ID: ev.ID, Commands: ev.Commands})
	case member.Closed:
		s.halt(ev.Err)
	case member.Stop:
		s.leave(ev.Reason)
	}
}

// advance does what the state asks for. It is level-triggered: it looks at the state alone, not at what led to it.
func (s *step) advance() {
	s.keep()
	s.walk()
	s.renew()
	s.lookAround()
	s.fetchSlots()
	s.assign()
	s.post()
	s.ask()
	s.readLog()
	s.checkLog()
	if !s.fold.History.Doubted { // else it decides nothing before the store has said which history it has
		s.elect()
		s.observe()
		s.reign()
		s.saveSnapshot()
	}
	s.watch()
	s.settle()
	s.setWake()
}

// free reports whether a call for a key can be made, and notes that it is being made.
func (s *step) free(key string) bool {
	i, ok := slices.BinarySearch(s.busy, key)
	if ok || s.now < s.rest {
		return false
	}
	s.busy = slices.Insert(slices.Clone(s.busy), i, key)
	return true
}

func (s *step) isBusy(key string) bool {
	_, ok := slices.BinarySearch(s.busy, key)
	return ok
}

// returned notes that the call for a key was answered.
func (s *step) returned(key, err string) {
	if i, ok := slices.BinarySearch(s.busy, key); ok {
		s.busy = slices.Delete(slices.Clone(s.busy), i, i+1)
	}
	if err != "" {
		s.rest = s.now.Add(s.p.Poll)
	}
}

func (s *step) get(key string) bool {
	ok := s.free(key)
	if ok {
		s.emit(Get{Key: key})
	}
	return ok
}

func (s *step) list(prefix string) bool {
	ok := s.free(prefix)
	if ok {
		s.emit(List{Prefix: prefix})
	}
	return ok
}

func (s *step) put(p Put) bool {
	ok := s.free(p.Key)
	if ok {
		s.emit(p)
	}
	return ok
}

// answered notes what a read has shown of the store.
func (s *step) answered(err string) { s.contact, s.fx = s.contact.Read(s.fx, err) }

// answeredWrite notes what a write has shown of the store.
func (s *step) answeredWrite(err string, done bool) {
	s.contact, s.fx = s.contact.Wrote(s.fx, err, done)
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

// setWake asks to be woken soon.
func (s *step) setWake() {
	next := s.now.Add(s.p.Poll)
	due := func(at protocol.Instant) {
		if at > s.now {
			next = min(next, at)
		}
	}
	if !s.renewal.Busy {
		due(s.renewal.Next)
	}
	silent := func(o heartbeat.Observation) { due(o.Since.Add(s.silence(o))) }
	silent(s.vote.Holder)
	if s.rule.at == ruleRuling && !s.p.Vanish {
		for m := range s.fold.value.Members() {
			silent(s.heartbeats.Of(m.Heartbeat))
		}
		due(s.nextSweep())
	}
	if s.vote.Holder.Key != s.renewal.key {
		due(s.nextProbe())
	}
	if !s.p.Hints {
		due(s.head.next)
		due(s.roster.next)
		due(s.rule.boxes.next)
	}
	if next != s.wake {
		s.wake = next
		s.emit(member.WakeAt{At: next})
	}
}

// rarely is how often a member looks at a document without a hint. With many members all of them together look about as often as one of few.
func (s *step) rarely() time.Duration {
	if !s.p.Hints {
		return s.p.Poll
	}
	n := int64(max(1, len(s.roster.Members)))
	return max(s.p.Poll, s.p.TTL*2/5, time.Duration(n*int64(s.p.TTL*3/5)), time.Duration(n*n*int64(s.p.TTL/100)))
}
