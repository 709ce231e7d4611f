package lease

import (
	"slices"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
)

// few is how many other members the leader looks at one by one where the store hints at nothing: then it looks no more
// often than once in a poll, on average.
const few = 6

// nextLook is when to look around again where all is polled for. The silence of a member is to be counted from soon
// after its last renewal. So a look comes right after the next one is due: at the leader by its followers, and by the
// leader at its followers. What else there is to see the leader has written, or its survey shows it.
func (s *step) nextLook() protocol.Instant {
	again, pause := s.At.Add(s.Poll), s.At.Add(s.Poll/4)
	switch {
	case s.moving():
		return pause
	case !s.lead.holds:
		o := s.look.election.Holder
		if !o.Known || o.Gone() {
			return again
		}
		return max(pause, o.Polled(s.Timing, s.Poll))
	case len(s.look.members)-1 > few:
		pause = again
	}
	next := s.At.Add(4 * s.Poll)
	for _, m := range s.look.members {
		if s.follows(m) {
			next = min(next, s.lead.beats.Of(m.Heartbeat).Soon(s.Timing, s.Poll))
		}
	}
	return max(pause, next)
}

// moving tells whether something is given up or free, by a board that has changed lately, or a new leader has yet to
// write its board: then all look more often where nothing is hinted at, so that it runs again soon. What has been free
// for longer waits for something else.
func (s *step) moving() bool {
	b := s.look.board
	return !s.Hints.Docs && (len(b.Stop)+len(b.Free) > 0 || b.Term < s.look.leader.Term) &&
		s.At.Sub(s.look.boardSince) < s.Params.TTL
}

// maxMoves bounds what a survey reads by its key because it moves; the rest is listed, later.
const maxMoves = 256

// readByKey are the documents that a survey reads by their keys, whatever a list shows: what moves, and the windows of
// items that are being made.
func (s *step) readByKey() []string {
	keys := s.moves()
	for _, l := range s.lead.listed {
		keys = append(keys, l.window)
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// moves are the documents of the partitions that are given up or free.
func (s *step) moves() (keys []string) {
	if !s.moving() {
		return nil
	}
	for _, e := range s.look.board.Stop {
		keys = append(keys, partitionKey(e.Partition))
	}
	for _, e := range s.look.board.Free {
		keys = append(keys, partitionKey(e.Partition))
	}
	return keys[:min(len(keys), maxMoves)]
}

// dueBeats are the heartbeats that it is time to look at: the deputy looks at all, and so does a leader without hints,
// besides its surveys. Where the leader is late, whoever may follow it looks at those before it.
func (s *step) dueBeats() (keys []string) {
	all, late := s.watches(), s.leaderLate()
	for _, m := range s.look.members {
		if m.ID == s.Member {
			late = false
		}
		if (all || late) && s.follows(m) && m.Heartbeat != s.look.election.Holder.Key &&
			s.At >= s.lead.beats.Of(m.Heartbeat).Soon(s.Timing, s.Poll) {
			keys = append(keys, m.Heartbeat)
		}
	}
	return keys
}

// follows tells whether a member is another one that has a heartbeat.
func (s *step) follows(m cluster.Member) bool {
	return m.ID != s.Member && m.State != cluster.MemberHeld
}

// ownWritten takes in that the leader has written something that it would find out of later: what its board gives to
// itself, or that it has fenced a session.
func (s *step) ownWritten(key string) {
	if key == keyBoard && !s.Hints.Docs {
		s.look.next = s.At
	}
	for _, m := range s.look.members {
		if m.Heartbeat == key && s.follows(m) {
			o := s.lead.beats.Of(key)
			s.removeMember(m, o.Reason("its session has ended", s.Silence(o)), key)
		}
	}
}

// mostWatched is how many members a cluster has at most in which a deputy watches all: it reads each heartbeat about as
// often as that is renewed.
const mostWatched = 32

// deputy tells whether we are the one that follows the leader. It watches all heartbeats as the leader does, and leads
// when the leader is late, before its session has ended: else those that die meanwhile wait for that end, and some of
// them for as long again, which begins when somebody new looks at them.
func (s *step) deputy() bool { return s.mayFollow() && s.rank() == 0 }

// mayFollow tells whether we are the deputy, or become it when those before us have died.
func (s *step) mayFollow() bool {
	return !s.lead.holds && s.look.leader.Holder != "" && len(s.look.members) <= mostWatched
}

// leaderLate tells whether a leader that we may follow has missed a renewal.
func (s *step) leaderLate() bool { return s.mayFollow() && s.Late(s.look.election.Holder) }

// watches tells whether we look at all heartbeats one by one. A leader to whom the store hints at them sees them in its
// surveys.
func (s *step) watches() bool { return s.lead.holds && !s.Hints.Docs || s.deputy() }

// lateMembers are those that have missed a renewal. What is free is not for them first.
func (s *step) lateMembers() (late []cluster.MemberID) {
	for _, m := range s.look.members {
		if s.follows(m) && s.Late(s.lead.beats.Of(m.Heartbeat)) {
			late = append(late, m.ID)
		}
	}
	return late
}

// lateAt is when to look at the leader's heartbeat to find it late, or at those before us if it is; a TTL from now
// where there is nothing to find.
func (s *step) lateAt() protocol.Instant {
	o := s.look.election.Holder
	switch late := o.Since.Add(s.Timing.Of(o.TTL).Late()); {
	case s.mayFollow() && o.Known && !o.Gone() && o.Looked < late:
		return late
	case s.leaderLate() && len(s.dueBeats()) > 0:
		return s.At
	}
	return s.At.Add(s.Params.TTL)
}
