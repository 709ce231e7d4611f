package sync

import (
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/protocol/history"
)

// suspect takes in entries of another history. The value refuses the same ones at all members; here the member only asks whether it is the one that differs.
func (s *step) suspect(f history.Foreign) {
	s.history = s.history.Suspect(s.now, f)
	if first, _ := s.value.FirstJoined(); f.Count > 0 && first == s.self() { // one journal record is enough
		s.emit(Refusing{Key: f.Key(), Reason: f.Reason})
	}
}

// checkLog asks the store which history it has, while there is a doubt.
func (s *step) checkLog() {
	h, ask := s.history.Ask(s.now)
	if s.history = h; ask {
		s.emit(CheckLog{At: s.value.Index()})
	}
}

func (s *step) logChecked(ev LogChecked) {
	s.answered(ev.Err)
	h, why := s.history.Answer(s.now, ev.Asked, ev.Has, ev.Err != "", s.p.Poll)
	if s.history = h; why != "" {
		s.halt(&protocol.DivergedError{Index: ev.Asked, Reason: why})
	}
}
