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
func (w State) Next() Duty {
	switch {
	case w.dismissed:
		return Over
	case !w.closed:
		return Listen
	case !w.ended:
		return Watch
	case !w.cleared:
		return EndPrograms
	case w.left:
		return Hold
	case len(w.sessions) > 0:
		return EndSessions
	}
	return Over
}

// Sessions are those to end.
func (w State) Sessions() []Held[string] { return w.sessions }

// Guard takes a session in.
func (w State) Guard(h Held[string]) State {
	w.sessions = append(without(w.sessions, h.ID), h)
	return w
}

// Release drops a session that the parent ends itself, or that has ended.
func (w State) Release(id uint64) State {
	w.sessions = without(w.sessions, id)
	return w
}

// Dismiss says that the parent needs no guardian any more.
func (w State) Dismiss() State {
	w.dismissed = true
	return w
}

// LineClosed says that the parent will send nothing more.
func (w State) LineClosed() State {
	w.closed = true
	return w
}

// ParentEnded says that the process of the parent has ended, all its threads.
func (w State) ParentEnded() State {
	w.ended = true
	return w
}

// ProgramsEnded says whether all programs have ended. If one may be left, its work may continue: then the sessions last
// for their TTL.
func (w State) ProgramsEnded(all bool) State {
	w.cleared, w.left = true, !all
	return w
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
