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
	s.check.next = s.now
}

// readLog reads the log when that is due. Where all is polled for, it goes with the looks at the heartbeat that this
// member watches, which come at other times than once in a poll: many stores take both in one request.
func (s *step) readLog() {
	looks := s.p.Polled && s.watching != "" && !s.check.busy
	with := looks && s.now >= max(s.check.next, s.check.rest) && s.routine()
	switch {
	case with:
		s.log.Next = min(s.log.Next, s.now)
	case looks && !s.log.Hint && s.check.next > s.now && s.check.next < s.log.Next.Add(s.p.Poll/2):
		return
	}
	if read, ok := s.log.Look(s.now, s.value.Index()); ok {
		read.With = with
		s.emit(read)
	}
}

func (s *step) read(ev member.Read) {
	s.answered(ev.Err)
	s.taken(s.log.Read(&s.value, ev, s.logTurn()))
}

func (s *step) snapshotRead(ev member.SnapshotRead) {
	s.answered(ev.Err)
	t := s.log.Loaded(&s.value, ev, s.logTurn())
	if t.Moved {
		s.reply(s.out.Lost(s.value.Wrote(s.writer())))
	}
	s.taken(t)
}

// checkLog asks the store which history it has, while there is a doubt.
func (s *step) checkLog() {
	if check, ok := s.log.Check(s.now, s.value.Index()); ok {
		s.emit(check)
	}
}

func (s *step) logChecked(ev member.LogChecked) {
	s.answered(ev.Err)
	s.taken(s.log.Checked(ev, s.logTurn()))
}

func (s *step) logTurn() fold.Turn {
	return fold.Turn{Now: s.now, Retry: s.now.Add(s.p.Poll), Next: s.now.Add(max(s.p.Poll, s.p.LogEvery)), Took: s.took}
}

// took answers the requests of our own entry.
func (s *step) took(a protocol.Applied) { s.reply(s.out.Took(s.now, s.writer(), &s.value, a)) }

// taken does what reading the log led to.
func (s *step) taken(t fold.Taken) {
	s.fx = append(s.fx, t.Effects(s.value, s.first)...)
	if t.Halt != nil {
		s.halt(t.Halt)
	}
}

// answered notes what a read has shown of the store.
func (s *step) answered(err string) { s.contact, s.fx = s.contact.Read(s.fx, err) }

// answeredWrite notes what a write has shown of the store.
func (s *step) answeredWrite(err string, done bool) {
	s.contact, s.fx = s.contact.Wrote(s.fx, err, done)
}

// saveSnapshot lets the first joined member write a snapshot now and then.
func (s *step) saveSnapshot() {
	if save, ok := s.log.Save(&s.value, fold.Saves{Every: s.p.SnapshotEvery, Cost: maxReplay, Writes: s.writes}); ok {
		s.emit(save)
	}
}

func (s *step) writes() bool { return s.phase == phaseMember && s.first() }

// first reports whether this member does what one member should do.
func (s *step) first() bool {
	first, ok := s.value.FirstJoined()
	return ok && first == s.self()
}
