package guarding

import "slices"

// Duty is what a guardian does next.
type Duty uint8

// The duties.
const (
	Listen      Duty = iota // to the parent
	Watch                   // the parent's process: the line is closed, which proves nothing
	EndPrograms             // that the parent has started
	EndSessions             // of the parent: those of Sessions
	Hold                    // a program may be left: what keeps a session alive is kept for as long as others wait for its TTL
	Over                    // nothing is left to do
)

// State is what a guardian knows of its parent. The zero value is that of a new guardian. It is a value: each method
// returns another one.
type State struct {
	sessions  []Held[string]
	closed    bool // the line
	ended     bool // the parent's process
	cleared   bool // what could be done about the parent's programs is done
	left      bool // one of them may be left
	dismissed bool // by the parent
}

// Next is what to do now.
func (s State) Next() Duty {
	switch {
	case s.dismissed:
		return Over
	case !s.closed:
		return Listen
	case !s.ended:
		return Watch
	case !s.cleared:
		return EndPrograms
	case s.left:
		return Hold
	case len(s.sessions) > 0:
		return EndSessions
	}
	return Over
}

// Sessions are those to end.
func (s State) Sessions() []Held[string] { return s.sessions }

// Guard takes a session in.
func (s State) Guard(h Held[string]) State {
	s.sessions = append(without(s.sessions, h.ID), h)
	return s
}

// Release drops a session that the parent ends itself, or that has ended.
func (s State) Release(id uint64) State {
	s.sessions = without(s.sessions, id)
	return s
}

// Dismiss says that the parent needs no guardian any more.
func (s State) Dismiss() State {
	s.dismissed = true
	return s
}

// LineClosed says that the parent will send nothing more.
func (s State) LineClosed() State {
	s.closed = true
	return s
}

// ParentEnded says that the process of the parent has ended, all its threads.
func (s State) ParentEnded() State {
	s.ended = true
	return s
}

// ProgramsEnded says whether all programs have ended. If one may be left, its work may continue: then the sessions last
// for their TTL.
func (s State) ProgramsEnded(all bool) State {
	s.cleared, s.left = true, !all
	return s
}

// Held is a session that a guardian shall end: its number, which no other session of the process has, and its key.
type Held[K any] struct {
	ID  uint64
	Key K
}

// Book has what a process has given into care. It is a value: each method returns another one.
type Book[K any] struct {
	next uint64
	held []Held[K]
}

// Guard takes a session in.
func (b Book[K]) Guard(key K) (Book[K], Held[K]) {
	b.next++
	h := Held[K]{b.next, key}
	b.held = append(slices.Clip(b.held), h)
	return b, h
}

// Release drops a session that the process ends itself.
func (b Book[K]) Release(id uint64) Book[K] {
	b.held = without(b.held, id)
	return b
}

// Held is what a new guardian must hear of.
func (b Book[K]) Held() []Held[K] { return b.held }

func without[K any](all []Held[K], id uint64) []Held[K] {
	return slices.DeleteFunc(slices.Clone(all), func(h Held[K]) bool { return h.ID == id })
}
