package sync

import (
	"cmp"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// need is the next call that the group waits for.
type need uint8

const (
	needJoin need = iota
	needSync
	needBeat  // the generation is a fact
	needLeave // the member was removed, and this membership is of no use
)

// group is what the member knows of its group. At most one call is under way.
type group struct {
	id         string // "" until the group has given one
	generation uint64
	leads      bool
	members    []Companion // of a generation that it leads
	need       need
	busy       bool
	next       protocol.Instant // not before
	asked      protocol.Instant // when the call that is under way was asked for
	ttl        time.Duration    // for which the group keeps this membership; 0 until it has said so: it cannot be changed
	fact       protocol.Instant // when the generation became one, here
	begun      uint64           // Start of the epoch by which its generation was announced, or was tried to be; 0: none
}

// nextBeat is when the next heartbeat is due. Heartbeats also bring the news of a new generation, and nobody hints at
// that: so all members send theirs at about the same instants, counted from when their generation became a fact, and
// the eighth after the last one of a silent member comes right after the group has given it up.
func (s *step) nextBeat(sent protocol.Instant) protocol.Instant {
	every := s.session()/8 + s.session()/800
	since := sent.Sub(s.group.fact)
	return sent.Add(every - since%every)
}

// session is the TTL of this membership, or of the one that is to be asked for.
func (s State) session() time.Duration { return cmp.Or(s.group.ttl, s.Pace.TTL(s.Timing)) }

// keepGroup makes the next call.
func (s *step) keepGroup() {
	if s.Is == member.PhaseReading || s.group.busy || s.At < s.group.next {
		return
	}
	seat := store.Seat{ID: s.group.id, Generation: s.group.generation}
	switch s.group.need {
	case needJoin:
		if s.group.id == "" && s.Is != member.PhaseJoining {
			return // it is leaving, or what it ran has yet to stop
		}
		s.Emit(JoinGroup{ID: s.group.id, Join: s.Join, Session: s.session(), Usual: s.Params.TTL})
	case needSync:
		s.Emit(SyncGroup{Seat: seat, Session: s.session()})
	case needBeat:
		s.Emit(Beat{Seat: seat, Session: s.session()})
	case needLeave:
		s.Emit(LeaveGroup{ID: s.group.id})
	}
	s.group.busy, s.group.asked = true, s.At
}

func (s *step) heardGroup(ev member.Event) {
	switch ev := ev.(type) {
	case Joined:
		if s.group.id == "" {
			s.group.id, s.group.ttl = ev.ID, ev.Session // also where the call failed: it is the member that may have joined
		}
		if s.heard(ev.Answer, ev.Err) {
			s.group.generation, s.group.leads, s.group.members, s.group.begun = ev.Generation, ev.Leads, ev.Members, 0
			s.group.need, s.group.next = needSync, s.At
		}
	case Synced:
		if s.heard(ev.Answer, ev.Err) {
			s.group.need, s.group.fact = needBeat, s.At
			s.renewed(ev.Sent)
		}
	case Beaten:
		if ev.Answer != Outside {
			s.Pace = s.Pace.Answered(s.session(), s.At.Sub(s.group.asked), ev.Answer != Failed, s.At, s.Timing)
		}
		if s.heard(ev.Answer, ev.Err) {
			s.renewed(ev.Sent)
		}
	case GroupLeft:
		s.group, s.Own = group{}, member.Own{}
		s.Answered(ev.Err)
	}
}

// renewed counts the lease from before the call. That the group had us then says that no generation without us was
// formed before it, however late we hear of it: so a lease that has run out begins again, without asking the log.
func (s *step) renewed(sent protocol.Instant) {
	s.Extend(sent, s.group.ttl)
	s.group.next = s.nextBeat(sent)
}

// heard takes in what the group says to a call, and reports whether it agreed.
func (s *step) heard(a Answer, err string) bool {
	s.group.busy = false
	s.Answered(err)
	switch a {
	case Agreed:
		s.Wrote(err, s.Log.Out.Pending == nil && len(s.Log.Out.Queue) == 0) // no heartbeat is written here: what was refused waits, or nobody wants it any more
		return true
	case Again:
		if s.group.need == needJoin { // the same call, made twice
			s.group.next = s.At.Add(s.Poll / 4)
		} else if s.group.need != needLeave {
			s.group.need, s.group.next = needJoin, s.At
		}
	case Outside:
		s.expelled()
	case Failed:
		s.group.next = s.At.Add(s.Poll)
	}
	return false
}

// expelled: the group goes on without us, and others may have what was ours.
func (s *step) expelled() {
	s.Pace = s.Pace.Lost(s.Own.Lease, 0, s.At, s.Timing)
	s.group, s.Own = group{next: s.At}, member.Own{}
	if s.Is == member.PhaseMember {
		s.Remove(s.Log.Value.Index(), "the group has removed it")
	}
}

// seated reports whether the present epoch is that of the member's generation, and the generation a fact.
func (s *step) seated() bool {
	e, ok := s.Log.Value.Epoch()
	return ok && s.group.need == needBeat && e.Generation == s.group.generation
}

// walk moves from phase to phase as far as the value and the group allow.
func (s *step) walk() {
	was := s.Is
	s.Walk(s)
	switch {
	case s.Is == member.PhaseMember && was != s.Is:
		s.passed, s.told = 0, told{}
	case s.Is == member.PhaseJoining:
		s.awaitName()
	case s.Is == member.PhaseRemoved && s.group.id != "" && s.group.need != needLeave && !s.group.busy:
		s.group.need, s.group.next = needLeave, s.At
	}
}

// Stand implements member.Machine. It joins again as a new member of the group.
func (s *step) Stand() member.Stand {
	m, in := s.present()
	return member.Stand{
		Inc: m.Incarnation, Ready: s.Log.Whole(), In: in && s.Is == member.PhaseJoining, Joined: in,
		Free: s.Is != member.PhaseRemoved || s.group.id == "" && !s.group.busy, Out: !in || m.Incarnation != s.Inc,
	}
}

// Again implements member.Machine.
func (s *step) Again() { s.Work.Again() }

// present is this membership in the value.
func (s *step) present() (cluster.Member, bool) {
	m, ok := s.Log.Value.Member(s.Member)
	return m, ok && s.group.id != "" && m.Heartbeat == heartbeatOf(s.group.id) && m.State == cluster.MemberJoined
}

// namesLast is how many TTLs a member waits while epochs that know of it name another start under its name. One that is
// dead would be out of the group.
const namesLast = 3

// longest is how many times as long as usual a TTL becomes at most, so that namesLast usual TTLs are longer than any
// membership of a dead process lasts.
const longest = 2

// awaitName gives up when another process is in the group under our name, and stays. Time in which the group does not
// know us does not count; a change of the group ends nothing, for the next epoch may name the same one again.
func (s *step) awaitName() {
	m, ok := s.Log.Value.Member(s.Member)
	switch {
	case !ok || m.State != cluster.MemberJoined || s.At >= s.Own.Until(s.Timing):
		s.passed = 0
	case !s.seated():
	case s.passed == 0:
		s.passed = s.At
	case s.At.Sub(s.passed) >= namesLast*s.Params.TTL:
		s.Halt(s.Log.Value.Index(), &protocol.NameTakenError{Member: s.Member})
	}
}
