package leader

import (
	"slices"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/duty"
	"github.com/rota-run/rota/internal/protocol/elect"
	"github.com/rota-run/rota/internal/protocol/heartbeat"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/internal/protocol/outbox"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// Role is what a member does besides its work.
type Role struct {
	// Offer is how long the leader waits for the answer to an offer, by its own clock.
	Offer time.Duration
	// StandBys is how many members besides the leader fold the log.
	StandBys int
	// Whole: this member folds the log whatever it is, since what runs on it looks at the whole value.
	Whole bool
	// Audit: the leader compares assignments as they are in the store with what it wrote. Without it, what somebody
	// else has changed is found when its value changes, or when another leader begins.
	Audit bool
}

// State is all that one member knows. It is a value: Step returns another one and shares what it does not change.
type State struct {
	member.Core
	p Role

	admitted   cluster.Index // the incarnation in which it joined: tokens of before are of another membership
	claims     heartbeat.Observations
	mailbox    mailbox
	head       head
	slots      tree[slot]  // what is assigned to this member, by key
	fetch      tree[fetch] // assignments that are to be read
	roster     roster
	light      *cluster.Value // what a member knows that does not fold the log
	work       duty.Derived   // of that
	asks       asks
	fold       folding
	vote       vote
	rule       rule
	heartbeats heartbeat.Observations // of the members, for those that fold
	swept      protocol.Instant
	probing    []probe // heartbeats that are being read

	changed bool     // the slots differ from what is assigned
	busy    []string // keys and prefixes with a call under way, sorted
	rest    protocol.Instant
}

// vote is what the member knows of who leads.
type vote struct {
	elect.Election
	look
	holder holderDoc
	turn   protocol.Instant // a document that cannot be read is read again
	wary   protocol.Instant // until then a stand-by looks at the leader as its deputy does: a member may have died
}

// NewState is a member that has just started.
func NewState(p member.Params, r Role) State {
	s := State{Core: member.NewCore(p, member.Confirm), p: r, light: &cluster.Value{},
		asks: asks{Box: outbox.Box{Limit: maxAsk}}}
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
func (s *step) Index() cluster.Index { return s.head.Index }

// Take implements member.Machine.
func (s *step) Take(ev member.Event) {
	switch ev := ev.(type) {
	case member.Hinted:
		s.hinted(ev.Prefix)
	case member.Read, member.SnapshotRead, member.LogChecked, member.SnapshotSaved, member.Appended:
		s.logged(ev)
	case Got:
		s.got(ev)
	case Listed:
		s.listed(ev)
	case Wrote:
		s.wrote(ev)
	case member.Proposed:
		s.asks.Box = s.asks.With(outbox.Request{ID: ev.ID, Commands: ev.Commands})
	}
}

// Advance implements member.Machine.
func (s *step) Advance() {
	if s.Is == member.PhaseGone {
		return
	}
	s.keep()
	s.walk()
	s.Renew(protocol.HeartbeatPrefix)
	s.lookAround()
	s.fetchSlots()
	s.assign()
	s.post()
	s.ask()
	s.readLog()
	s.fold.Check(&s.Core)
	if !s.fold.History.Doubted { // else it decides nothing before the store has said which history it has
		s.elect()
		s.observe()
		s.reign()
		s.fold.Save(&s.Core, 0, s.First)
	}
	s.settle()
	s.setWake()
}

// call makes a call for a key or prefix, and notes that it is being made. False: it cannot be made now.
func (s *step) call(key string, e member.Effect) bool {
	i, ok := slices.BinarySearch(s.busy, key)
	if ok || s.At < s.rest {
		return false
	}
	s.busy = slices.Insert(slices.Clone(s.busy), i, key)
	s.Emit(e)
	return true
}

func (s *step) get(key string) bool { return s.call(key, Get{Key: key}) }

func (s *step) list(prefix string) bool { return s.call(prefix, List{Prefix: prefix}) }

func (s *step) put(p Put) bool { return s.call(p.Key, p) }

// drop removes a document at a version.
func (s *step) drop(key string, v store.Version) bool {
	return s.call(key, Delete{Key: key, Version: v})
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
		s.rest = s.At.Add(s.Poll)
	}
}

// setWake asks to be woken soon.
func (s *step) setWake() {
	w := s.Waking()
	w.Due(s.Own.Busy, s.Own.Next)
	silent := func(o heartbeat.Observation) { w.Due(false, o.Since.Add(s.Silence(o))) }
	silent(s.vote.Holder)
	if s.rule.at == ruleRuling && !s.Hints.Vanish {
		for m := range s.fold.Value.Members() {
			silent(s.heartbeats.Of(m.Heartbeat))
		}
		w.Due(false, s.nextSweep())
	}
	if s.vote.Holder.Key != s.Own.Key {
		w.Due(false, s.nextProbe())
	}
	if !s.Hints.Docs {
		w.Due(false, s.head.next)
		w.Due(false, s.roster.next)
		w.Due(false, s.rule.boxes.next)
	}
	s.WakeAt(w)
}

// rarely is how often a member looks at a document without a hint. With many members all of them together look about as
// often as one of few.
func (s *step) rarely() time.Duration {
	if !s.Hints.Docs {
		return s.Poll
	}
	n := int64(max(1, len(s.roster.Members)))
	return max(s.Poll, s.Params.TTL*2/5, time.Duration(n*int64(s.Params.TTL*3/5)),
		time.Duration(n*n*int64(s.Params.TTL/100)))
}

// Value is the newest value that the member has: the whole one where it folds the log, else its excerpt; see
// [State.Whole].
func (s State) Value() cluster.Value {
	if s.Whole() {
		return s.fold.Value
	}
	return *s.light
}

// Whole reports whether Value is the whole value, and not an excerpt with all members and the tasks of this one.
func (s State) Whole() bool { return s.fold.Whole() }

// Status is what the member knows of its membership.
func (s State) Status() protocol.Status {
	out := s.fold.Status(&s.Core)
	out.Pending, out.Light, out.Refused = len(s.asks.Queue), !s.Whole(), out.Refused+s.asks.Refused
	return out
}

// Watching are the prefixes that the store is asked to tell of, and whether it is asked to tell of the log.
func (s State) Watching() (prefixes []string, log bool) {
	at := &step{&s}
	prefixes, log = []string{leaderPrefix, rosterPrefix, headFolder(s.Member)}, at.folds()
	if s.asks.Pending != nil {
		prefixes = append(prefixes, planFolder(at.asker()))
	}
	if log {
		prefixes = append(prefixes, MailboxPrefix)
	}
	if s.rule.at != ruleNone {
		prefixes = append(prefixes, planPrefix)
	}
	return prefixes, log
}
