package sim

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rota-run/rota/internal/node/guarding"
	"github.com/rota-run/rota/internal/protocol/heartbeat"
	"github.com/rota-run/rota/proof/sim/machine"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
)

// guarded is a process's end of its guardians: it implements protocol.Guard. What it knows is that of package guarding,
// as in the real one.
type guarded struct {
	p        *process
	chance   chance
	book     guarding.Book[string]
	numbers  map[store.EndKey]uint64
	children []*guardian // that run: mostly one
	line     *guardian   // the one that is told; nil while there is none
	programs []*run      // of a dead process, which have yet to be ended
	stuck    bool        // one of the programs is stuck in the kernel, for longer than guardians try
	late     int64       // for how long its guardians get no processor when it has died
	doubled  bool        // what they ask of the store is done twice
}

// guardian is one child process. It decides by package guarding alone.
type guardian struct {
	of      *guarded
	knows   guarding.State
	waiting bool // for what its duty needs
}

// restartPause is before a lost guardian is started again, as in package guardian.
const restartPause = time.Second

// begin starts a guardian and tells it all that there is to guard.
func (g *guarded) begin() {
	if !g.p.up || g.line != nil {
		return
	}
	c := &guardian{of: g}
	for _, h := range g.book.Held() {
		c.knows = c.knows.Guard(h)
	}
	g.line, g.children = c, append(g.children, c)
}

// Guard implements protocol.Guard.
func (g *guarded) Guard(k store.EndKey) {
	if k == (store.EndKey{}) || !g.p.up { // a request of a dead process is done, its next line of code is not
		return
	}
	book, h := g.book.Guard(k.Text)
	g.book, g.numbers[k] = book, h.ID
	if g.line != nil {
		g.line.knows = g.line.knows.Guard(h)
		g.line.goOn()
	}
}

// Release implements protocol.Guard.
func (g *guarded) Release(k store.EndKey) {
	id, ok := g.numbers[k]
	if !ok {
		return
	}
	delete(g.numbers, k)
	g.book = g.book.Release(id)
	if g.line != nil {
		g.line.knows = g.line.knows.Release(id)
	}
}

// State implements protocol.Guard.
func (g *guarded) State() string { return "on" }

// lose ends the guardian that is told; where its process goes on, another one is started after a while.
func (g *guarded) lose() {
	if g != nil && g.line != nil {
		g.drop(g.line)
	}
}

// drop ends a guardian's process. A session that only its copy of the lock file kept is over.
func (g *guarded) drop(c *guardian) {
	g.children = slices.DeleteFunc(g.children, func(o *guardian) bool { return o == c })
	c.knows = c.knows.Dismiss()
	if g.line == c {
		g.line = nil
		g.p.w.after(int64(restartPause), g.begin)
	}
	if !g.p.up {
		g.p.w.disk.died(g.p)
		if len(g.children) == 0 && !g.stuck {
			g.endPrograms()
		}
	}
}

// holds tells whether a guardian has the lock file of a session open.
func (g *guarded) holds(s *session) bool {
	key := strconv.Itoa(s.id)
	return g != nil && slices.ContainsFunc(g.children, func(c *guardian) bool {
		return slices.ContainsFunc(c.knows.Sessions(), func(h guarding.Held[string]) bool { return h.Key == key })
	})
}

// recover ends the faults of a live member's guardians. Each gets a new one, which must know as much as the one before.
func (g *guarded) recover() {
	if g != nil {
		g.late, g.doubled = 0, false
		g.lose()
		g.begin()
	}
}

// died tells the guardians, in either order, that the line is closed and that the process has ended. What it ran as
// programs goes on where a guardian knows its session: else they die with it.
func (g *guarded) died(runs []*run) {
	told := g.line != nil
	g.line = nil
	for _, r := range runs {
		if told && g.chance.oneIn(2) {
			r.stopping = true
			g.programs = append(g.programs, r)
		} else {
			g.p.w.oracle.ended(r)
		}
	}
	if g.stuck = len(g.programs) > 0 && !g.p.w.healing && g.chance.oneIn(10); g.stuck {
		g.p.w.after(3*int64(g.p.w.plan.ttl), g.endPrograms)
	}
	g.late = cmp.Or(g.late, g.chance.between(int64(100*time.Microsecond), int64(20*time.Millisecond)))
	for _, c := range slices.Clone(g.children) {
		g.p.w.after(g.late, func() { c.knows = c.knows.LineClosed(); c.goOn() })
		g.p.w.after(g.late+g.chance.between(-int64(100*time.Microsecond), int64(5*time.Millisecond)),
			func() { c.knows = c.knows.ParentEnded(); c.goOn() })
	}
}

// endPrograms ends what a dead process has left.
func (g *guarded) endPrograms() {
	if g == nil {
		return
	}
	for _, r := range g.programs {
		g.p.w.oracle.ended(r)
	}
	g.programs = nil
}

// goOn does what package guarding decides.
func (c *guardian) goOn() {
	w := c.of.p.w
	if c.waiting {
		return
	}
	next := func(d int64, do func()) {
		c.waiting = true
		w.after(d, func() {
			c.waiting = false
			do()
			c.goOn()
		})
	}
	switch c.knows.Next() {
	case guarding.EndPrograms:
		next(c.of.chance.between(int64(time.Millisecond), int64(100*time.Millisecond)), c.programs)
	case guarding.EndSessions:
		next(c.of.chance.between(int64(100*time.Microsecond), w.plan.slow*int64(time.Millisecond)), c.sessions)
	case guarding.Hold:
		next(heartbeat.Slowest*int64(w.plan.ttl), func() { c.knows = c.knows.Dismiss() })
	case guarding.Over:
		c.of.drop(c)
	}
}

// programs ends those of the parent, unless they are stuck.
func (c *guardian) programs() {
	if !c.of.stuck {
		c.of.endPrograms()
	}
	c.knows = c.knows.ProgramsEnded(!c.of.stuck)
}

// sessions asks the store to end those of the parent. What is not acknowledged is asked again.
func (c *guardian) sessions() {
	w := c.of.p.w
	if w.disk.away {
		return
	}
	for _, h := range c.knows.Sessions() {
		c.end(h.Key)
		if c.of.doubled {
			w.after(c.of.chance.between(int64(time.Second), int64(2*time.Minute)), func() { c.end(h.Key) })
		}
		c.knows = c.knows.Release(h.ID)
	}
}

// end is done by the store: it ends one session, and the oracle looks whose it was.
func (c *guardian) end(key string) {
	p, w := c.of.p, c.of.p.w
	if w.lives(p.name) {
		w.count(machine.GuardianEarlier, machine.Cluster)
	}
	if id, ok := strings.CutPrefix(key, endsPlace); ok {
		c.ends(p)
		w.disk.room.ask(memory.GroupCall{Leave: id}, func(memory.GroupAnswer) {})
		return
	}
	if _, docs, ok := strings.Cut(key, " "); ok {
		c.ends(p)
		w.disk.entomb(p, strings.Fields(docs))
	}
	for _, s := range slices.Clone(w.disk.sessions) {
		if strconv.Itoa(s.id) == key {
			c.ends(s.p)
			s.end()
		}
	}
}

// ends notes that something of a process is about to be ended, which must be dead.
func (c *guardian) ends(of *process) {
	p, w := c.of.p, c.of.p.w
	if of.up {
		w.oracle.violate("G4", "the guardian of %s ends the session of %s, which lives", p.label(), of.label())
	}
	w.note("the guardian of %s ends its session", p.label())
	w.count(machine.GuardianEnds, machine.Cluster)
}

// struck is a death that a fault has announced. It is one of the faults: once they are over, members fail one at a
// time.
func (p *process) struck() {
	if !p.w.healing {
		p.die()
	}
}

// hitGuardian lets a fault happen to a member's guardian, which is told.
func (p *process) hitGuardian(k machine.Kind, r chance) {
	g := p.guard
	switch k {
	case machine.GuardianLate:
		g.late = r.between(int64(p.w.plan.ttl)/4, 3*int64(p.w.plan.ttl))
		p.die()
	case machine.GuardianDoubled:
		g.doubled = true
		p.die()
	case machine.GuardianLost:
		if g.lose(); r.oneIn(2) {
			p.w.after(r.between(0, 2*int64(restartPause)), p.struck)
		}
	case machine.GuardianCutOff: // and nobody ends it: for a while there are two
		c := g.line
		g.line = nil
		c.knows = c.knows.LineClosed()
		c.goOn()
		p.w.after(int64(restartPause), g.begin)
		p.w.after(r.between(0, int64(time.Minute)), p.struck)
	}
}
