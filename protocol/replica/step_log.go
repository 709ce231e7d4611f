package replica

import (
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/protocol/fold"
	"github.com/rota-run/rota/protocol/member"
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
	if read, ok := s.log.Look(s.At, s.value.Index()); ok {
		read.With = with
		s.Emit(read)
	}
}

func (s *step) read(ev member.Read) {
	s.Answered(ev.Err)
	s.taken(s.log.Read(&s.value, ev, s.logTurn()))
}

func (s *step) snapshotRead(ev member.SnapshotRead) {
	s.Answered(ev.Err)
	t := s.log.Loaded(&s.value, ev, s.logTurn())
	if t.Moved {
		s.reply(s.out.Lost(s.value.Wrote(s.writer())))
	}
	s.taken(t)
}

// checkLog asks the store which history it has, while there is a doubt.
func (s *step) checkLog() {
	if check, ok := s.log.Check(s.At, s.value.Index()); ok {
		s.Emit(check)
	}
}

func (s *step) logChecked(ev member.LogChecked) {
	s.Answered(ev.Err)
	s.taken(s.log.Checked(ev, s.logTurn()))
}

func (s *step) logTurn() fold.Turn {
	return fold.Turn{Now: s.At, Retry: s.At.Add(s.Poll), Next: s.At.Add(max(s.Poll, s.LogEvery)), Took: s.took}
}

// took answers the requests of our own entry.
func (s *step) took(a protocol.Applied) { s.reply(s.out.Took(s.At, s.writer(), &s.value, a)) }

// taken does what reading the log led to.
func (s *step) taken(t fold.Taken) {
	s.Emit(t.Effects(s.value, s.first)...)
	if t.Halt != nil {
		s.Halt(s.value.Index(), t.Halt)
	}
}

// saveSnapshot lets the first joined member write a snapshot now and then.
func (s *step) saveSnapshot() {
	if save, ok := s.log.Save(&s.value, fold.Saves{Every: s.SnapshotEvery, Cost: maxReplay, Writes: s.writes}); ok {
		s.Emit(save)
	}
}

func (s *step) writes() bool { return s.Is == member.PhaseMember && s.first() }

// first reports whether this member does what one member should do.
func (s *step) first() bool {
	first, ok := s.value.FirstJoined()
	return ok && first == s.Member
}
