package sync

import (
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/protocol/fold"
	"github.com/rota-run/rota/protocol/member"
)

func (s *step) readLog() {
	if read, ok := s.log.Look(s.now, s.value.Index()); ok {
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

// took notes what our own entry has said, and answers its requests.
func (s *step) took(a protocol.Applied) {
	if !a.Duplicate && a.Entry.Writer == s.writer() {
		s.spoke(a.Entry, a.Results)
	}
	s.reply(s.out.Took(s.now, s.writer(), &s.value, a))
}

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
	if save, ok := s.log.Save(&s.value, fold.Saves{Every: s.p.SnapshotEvery, Writes: s.writes}); ok {
		s.emit(save)
	}
}

func (s *step) writes() bool { return s.phase == phaseMember && s.first() }

// first reports whether this member does what one member should do.
func (s *step) first() bool {
	first, ok := s.value.FirstJoined()
	return ok && first == s.self()
}
