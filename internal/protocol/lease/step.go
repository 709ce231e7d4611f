package lease

import (
	"slices"
	"strconv"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/duty"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/internal/protocol/outbox"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// State is all that one member knows. It is a value: Step returns another one and shares slices that it does not
// change.
type State struct {
	member.Core
	wallMS int64         // newest wall clock that was read, for people
	value  cluster.Value // the newest view, or as the leader has assembled it
	known  *facts        // documents as they were read last, decoded; nobody changes them
	nextID uint64        // of calls and writes
	random uint64

	name  nameCheck
	look  look
	lead  lead
	tries []try
	held  []*held   // by partition: what this session has claimed, as acknowledged
	shuns []grantID // claims that were refused: not tried again until the board has changed
	ended []grantID // what is done for good here, of which no write was acknowledged

	claimRest    protocol.Instant // no claim before
	queue        []request
	given, taken cluster.Index // for submissions: the last one that was given to one, and the last one that was taken
	deeds        []protocol.Deed
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
func NewState(p member.Params) State {
	s := State{Core: member.NewCore(p, member.RenewLate), random: fnv1a(p.Nonce, 0) | 1, known: &facts{}}
	s.Is = member.PhaseNaming
	return s
}

// Step takes one event in. It changes the state and nothing else: the same state and event give the same state and
// effects.
func Step(s *State, ev member.Event) []member.Effect {
	st := &step{s}
	return st.Step(st, ev)
}

// step is one call of Step.
type step struct{ *State }

// Index implements member.Machine.
func (s *step) Index() cluster.Index { return s.value.Index() }

// Take implements member.Machine.
func (s *step) Take(ev member.Event) {
	switch ev := ev.(type) {
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
	case ViewRead:
		s.viewRead(ev)
	case Shown:
		s.shown(ev)
	case member.Proposed:
		s.queue = append(slices.Clip(s.queue), request{id: ev.ID, commands: ev.Commands,
			results: make([]cluster.Result, len(ev.Commands)), open: len(ev.Commands)})
	}
}

// fetched passes an answer to the part that asked.
func (s *step) fetched(ev Fetched) {
	s.Answered(ev.Err)
	switch ev.ID {
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

// written passes an answer to the part that wrote.
func (s *step) written(ev Written) {
	s.Wrote(ev.Err, ev.Outcome == outbox.Done)
	switch ev.ID {
	case s.name.fence.id:
		s.name.fence, s.name.next = call{}, s.At.Add(s.pause(ev.Outcome != outbox.Done))
	case s.look.lock.id:
		s.look.lock = call{next: s.At.Add(s.pause(ev.Outcome != outbox.Done))}
		s.look.next = s.At
	default:
		if !s.leadWritten(ev) {
			s.tryWritten(ev)
		}
	}
}

// pause is how long to wait after a call.
func (s *step) pause(failed bool) time.Duration {
	if failed {
		return s.Poll
	}
	return 0
}

// Advance implements member.Machine.
func (s *step) Advance() {
	s.Walk(s)
	s.Renew(nodePrefix)
	s.lookAround()
	s.leadOn()
	if s.Is == member.PhaseMember {
		s.Assign(duty.Granted(s.Given, s.value.Index(), s.grants()), s.Own.Until(s.Timing))
	}
	s.claimSome()
	s.tell()
	s.advanceTries()
	s.settle()
	if len(s.deeds) > 0 {
		s.Emit(member.Applying{Value: s.value, Deeds: s.deeds})
		s.deeds = nil
	}
	w := s.Waking()
	w.Due(s.Own.Busy, s.Own.Next)
	for _, c := range [...]call{s.look.call, s.lead.call, s.name.call} {
		w.Due(c.busy, c.next)
	}
	w.Due(false, s.claimRest)
	for _, t := range s.tries {
		w.Due(false, t.next)
	}
	s.WakeAt(w)
}

// id is a fresh number of a call.
func (s *step) id() uint64 {
	s.nextID++
	return s.nextID
}

// writeName names one write of this start of the process, so that it can be told from all others when it is read back.
func (s *step) writeName() string {
	return string(s.Member) + "-" + s.Nonce + "-" + strconv.FormatUint(s.id(), 10)
}

// fetch begins to read documents.
func (s *step) fetch(c *call, keys ...string) {
	c.busy, c.id = true, s.id()
	s.Emit(Fetch{ID: c.id, Keys: keys})
}

// write begins to write a document.
func (s *step) write(c *call, w leadWrite) {
	c.busy, c.id = true, s.id()
	s.Emit(Write{ID: c.id, Doc: w.doc, Delete: w.remove})
}

// pick is a pause of up to a duration, as random as the seed.
func (s *step) pick(top time.Duration) time.Duration {
	s.random ^= s.random << 13
	s.random ^= s.random >> 7
	s.random ^= s.random << 17
	return time.Duration(s.random % uint64(max(1, top))) //nolint:gosec // not negative
}

type (
	// Fetched answers Fetch: the documents in the order of its keys. One that is not there has no version.
	Fetched struct {
		member.Now
		Sent   protocol.Instant
		WallMS int64
		ID     uint64
		Docs   []store.Doc
		Err    string
	}
	// Surveyed answers Survey: all that was asked for and all that was listed, sorted by key.
	Surveyed struct {
		member.Now
		Sent   protocol.Instant
		WallMS int64
		Docs   []store.Doc
		Old    []cluster.JobID // of which the list shows what was
		Err    string
	}
	// Written answers Write.
	Written struct {
		member.Now
		ID      uint64
		Outcome outbox.Outcome
		Version store.Version
		Err     string
	}
	// ViewRead answers ReadView.
	ViewRead struct {
		member.Now
		View  uint64
		Value cluster.Value
		Err   string
		Halt  error // this member can never read it
	}
	// Shown answers Show.
	Shown struct {
		member.Now
		View    uint64
		Outcome outbox.Outcome
		Newest  uint64 // of a refusal: the newest view that a list shows
		Err     string
	}
)

type (
	// Fetch reads documents, in one request or several. Each is at least as new as the call.
	Fetch struct {
		member.Call
		ID   uint64
		Keys []string
	}
	// Survey reads documents, and all partitions and jobs that a list shows. A partition that binds others by what it
	// has said is read by its key, and a share counts as it is listed where the last survey has read it so.
	Survey struct {
		member.Call
		Keys   []string
		known  *facts                     // what that survey has read; nil for none in this term
		wrote  []string                   // partitions that were written since, sorted
		moves  []string                   // partitions whose next state is awaited, sorted: a list may show it late
		shares map[cluster.JobID][]string // tasks whose shares are laid out: a list may show one that is claimed as gone
	}
	// Write puts a document over the version in it, or deletes that version.
	Write struct {
		member.Call
		ID     uint64
		Doc    store.Doc
		Delete bool
	}
	// ReadView reads a view.
	ReadView struct {
		member.Call
		View uint64
	}
	// Show writes a view and removes the one before the last.
	Show struct {
		member.Call
		View  uint64
		Value cluster.Value
	}
)
