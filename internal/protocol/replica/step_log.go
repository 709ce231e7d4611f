package replica

import (
	"time"

	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/protocol"
)

// maxReplay is the cost of the entries between two snapshots; a reader replays those of twice as many at most. It is about half a second of one core.
const maxReplay = 2_500_000

func (s *step) hinted(ev member.Hinted) {
	if ev.Prefix == "" {
		s.log.Hint = true
		return
	}
	s.check.next = s.At
}

// readLog reads the log when that is due. Where all is polled for, it goes with the looks at the heartbeat that this
// member watches, which come at other times than once in a poll: many stores take both in one request.
func (s *step) readLog() {
	looks := s.p.polled && s.watching != "" && !s.check.busy
	with := looks && s.At >= max(s.check.next, s.check.rest) && s.routine()
	switch {
	case with:
		s.log.Next = min(s.log.Next, s.At)
	case looks && !s.log.Hint && s.check.next > s.At && s.check.next < s.log.Next.Add(s.Poll/2):
		return
	}
	if read, ok := s.log.Look(s.At); ok {
		read.With = with
		s.Emit(read)
	}
}

// Took implements fold.Keeper.
func (s *step) Took(protocol.Applied) {}

// Every implements fold.Keeper.
func (s *step) Every() time.Duration { return max(s.Poll, s.LogEvery) }

// First implements fold.Keeper.
func (s *step) First() bool {
	first, ok := s.log.Value.FirstJoined()
	return ok && first == s.Member
}

// writes reports whether this member writes snapshots.
func (s *step) writes() bool { return s.Is == member.PhaseMember && s.First() }
