package walk

import (
	"fmt"
	"slices"

	"github.com/rota-run/rota/internal/node/guarding"
	"github.com/rota-run/rota/store"
)

// guardian is a child of one process; it decides by package guarding alone. It outlives its process.
type guardian struct {
	life
	book  guarding.Book[string] // of its process
	knows guarding.State
	alone bool // its line is closed: the process tells another one
}

// guards is a process's end, for one call.
type guards struct {
	s *State
	life
}

// guard gives a process that begins a guardian.
func (s *State) guard(i int, book guarding.Book[string]) {
	if !s.bounds.Guardians {
		return
	}
	g := guardian{life: s.life(i), book: book}
	for _, h := range book.Held() {
		g.knows = g.knows.Guard(h)
	}
	s.guardians = append(slices.Clip(s.guardians), g)
}

// Guard implements protocol.Guard. A dead process tells nothing: only its requests are still under way.
func (g guards) Guard(k store.EndKey) {
	key := k.Text
	if !g.s.live(g.life) {
		return
	}
	g.s.guardians = slices.Clone(g.s.guardians)
	for k := range g.s.guardians {
		at := &g.s.guardians[k]
		if at.life != g.life || at.alone ||
			slices.ContainsFunc(at.book.Held(), func(h guarding.Held[string]) bool { return h.Key == key }) {
			continue
		}
		book, h := at.book.Guard(key)
		at.book, at.knows = book, at.knows.Guard(h)
	}
}

// Release implements protocol.Guard. In a walk no session is closed by a member that goes on.
func (guards) Release(store.EndKey) {}

// State implements protocol.Guard.
func (guards) State() string { return "on" }

// endSession is the store's: it ends what the key names. Guardians end no session of a process that lives.
func (s *State) endSession(key string) {
	of := owner{life: life{int(key[0] - '0'), key[1] - '0'}, session: key[2:]}
	if s.live(of.life) && s.broken == "" {
		s.broken = "a guardian ends no session of a process that lives: it ends that of " + string(name(of.member))
	}
	s.vanish(of)
}

// guardians are the moves of those that there are.
func (w *moves) guardians() {
	for k, g := range w.s.guardians {
		who := fmt.Sprintf("guardian %d of %s", k, name(g.member))
		alive := w.s.live(g.life)
		learns := func(next guarding.State) func(*State) { return func(s *State) { s.learn(k, next) } }
		switch g.knows.Next() {
		case guarding.Listen:
			if alive {
				w.cutOff(k, who)
			} else {
				w.add(who+" reads the end of its line", learns(g.knows.LineClosed()))
			}
		case guarding.Watch:
			if !alive {
				w.add(who+" learns that its process has ended", learns(g.knows.ParentEnded()))
			}
		case guarding.EndPrograms: // nobody else sees them
			w.add(who+" ends the programs", learns(g.knows.ProgramsEnded(true)))
		case guarding.EndSessions:
			w.ends(k, who)
		}
	}
	for k, key := range w.s.ends {
		w.add("the store does a late end of session "+key, func(s *State) {
			s.ends = slices.Delete(slices.Clone(s.ends), k, k+1)
			s.endSession(key)
		})
	}
}

// cutOff: the line is closed though the process lives, which then has another guardian beside this one.
func (w *moves) cutOff(k int, who string) {
	g := w.s.guardians[k]
	if g.alone {
		return
	}
	w.fault(Lines, who+" loses its line", func(s *State) {
		s.guard(g.member, g.book)
		s.learn(k, g.knows.LineClosed())
		s.guardians[k].alone = true
	})
}

// ends are the ways in which a session can be ended.
func (w *moves) ends(k int, who string) {
	for _, h := range w.s.guardians[k].knows.Sessions() {
		end := func(s *State) {
			s.endSession(h.Key)
			s.learn(k, s.guardians[k].knows.Release(h.ID))
		}
		w.add(who+" ends session "+h.Key, end)
		w.fault(Duplicates, who+" ends session "+h.Key+"; a copy of it is still on its way", func(s *State) {
			s.ends = append(slices.Clip(s.ends), h.Key)
			end(s)
		})
	}
}

// learn changes what a guardian knows. One that has nothing left to do is gone.
func (s *State) learn(k int, next guarding.State) {
	s.guardians = slices.Clone(s.guardians)
	s.guardians[k].knows = next
	if next.Next() == guarding.Over {
		s.guardians = slices.Delete(s.guardians, k, k+1)
	}
}

// appendGuardians appends what guardians know, and what is under way.
func (s *State) appendGuardians(b []byte, n *Names) []byte {
	for _, g := range s.guardians {
		b = n.Any(b, g.life, g.alone, g.knows.Next(), g.knows.Sessions())
	}
	return n.Any(b, len(s.guardians), s.ends)
}
