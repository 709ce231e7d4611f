package sim

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/heartbeat"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/internal/work/supervisor"
	"github.com/rota-run/rota/proof/sim/machine"
	"github.com/rota-run/rota/proof/sim/model"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// process is one start of one member: its decisions are replica's and work's own.
type process struct {
	w      *world
	id     int
	name   cluster.MemberID
	clock  clock
	wall   time.Duration // by which the clock for people is wrong: it may jump, and nothing may depend on it
	chance chance

	up      bool
	paused  bool
	pauses  uint64   // so far: the end of an earlier one does not end a later one
	waiting []func() // what came while it was paused
	cutOut  bool
	cutIn   bool

	state  machine.State
	inbox  []machine.Event
	turn   bool // a turn of the loop is due
	rung   bool // its timer has fired
	wakes  uint64
	caller machine.Caller
	handle *handle
	armed  []machine.Pair  // faults that wait for a call, which must be made in their phase
	hinted map[string]bool // prefixes of which a hint is on its way; "" for the log
	newest int64           // true time at which the last answer arrived, to count reordering
	dieAt  int             // effects until a crash between two of them; -1 for none

	guard      *guarded // nil for none
	super      *supervisor.State
	assignment protocol.Assignment
	told       bool                // an assignment waits for the supervisor
	taken      protocol.Assignment // that the supervisor has
	slowWork   int64               // until then the supervisor hears late: see SlowWork
	unlisted   int64               // until then no list is answered: see LateLook
	isolated   int64               // until then an isolated copy of the store answers its calls: see DirtyRead
	kept       map[runID]bool      // runs that ended well under a grant that the supervisor had
	ticks      uint64
	runs       []*run // in the order in which they began

	proven string // phase at the last step, to find triggers
}

// taskTypes are those that every member has.
// read-only: what every member is configured with.
var taskTypes = []supervisor.StepType{{Name: "steady"}, {Name: "finite"}, {Name: "flaky", MaxRuns: 2},
	{Name: "window"}}

func (w *world) start(name cluster.MemberID) {
	w.starts++
	id := fmt.Sprintf("%s/%d", name, w.starts)
	r := stream(w.conf.Seed, "process", id)
	p := &process{w: w, id: w.starts, name: name, up: true, chance: r, dieAt: -1, hinted: map[string]bool{},
		kept: map[runID]bool{}}
	p.clock = clock{base: w.now, local: r.between(1, int64(1000*time.Hour)), rate: r.between(-w.plan.rho, w.plan.rho)}
	p.wall = time.Duration(r.between(-int64(time.Minute), int64(time.Minute)))
	nonce := fmt.Sprintf("%08x", r.Uint32())
	ttl, hints, sessions := w.plan.ttl, w.plan.watches, w.plan.mode != Heartbeats
	s := machine.Start{
		Params: member.Params{
			Member: name, Join: cluster.PrepareJoin{Member: name, Slots: int64(w.starts % 4),
				Labels: []cluster.Label{{Key: "zone", Value: string('a' + rune(w.starts%3))}}},
			Nonce: nonce, Timing: heartbeat.Timing{TTL: ttl, Rho: 50, Margin: ttl / 20}, Poll: w.poll(), Hold: holdTime,
			SnapshotEvery: w.plan.snap,
			Hints: member.Hints{Log: hints, Docs: hints, Ends: hints && sessions,
				Vanish: hints && w.plan.mode == Leases},
		},
		Sessions: sessions, Now: p.now, Wall: p.people,
	}
	if w.plan.paced {
		s.Longest = heartbeat.Slowest * ttl
	}
	if w.plan.guardians {
		p.guard = &guarded{p: p, chance: stream(w.conf.Seed, "guardian", id), numbers: map[store.EndKey]uint64{}}
		p.guard.begin()
		s.Guard = p.guard
	}
	p.handle = &handle{d: w.disk, p: p}
	p.handle.Side = p.handle
	p.state = w.machine.Start(s)
	p.caller = w.machine.Caller(s, p.handle)
	p.super = supervisor.NewState(supervisor.StepConfig{Member: name, Types: slices.Clone(taskTypes),
		Grace: w.plan.grace, Seed: r.Uint64()})
	w.procs = append(w.procs, p)
	w.names[name]++
	w.note("%s starts, its clock is wrong by %d thousandths", p.label(), p.clock.rate)
	p.rung = true
	p.nextTurn()
}

// reaches does something on the process's machine: at once, or when it goes on.
func (p *process) reaches(do func()) {
	switch {
	case !p.up:
	case p.paused:
		p.waiting = append(p.waiting, do)
	default:
		do()
	}
}

// later does something on the process's machine after a while, drawn from its own stream.
func (p *process) later(lo, hi int64, do func()) {
	p.w.after(p.chance.between(lo, hi), func() { p.reaches(do) })
}

// ring does something when the process's clock shows an instant, unless it was set again since.
func (p *process) ring(at protocol.Instant, set *uint64, do func()) {
	n := *set
	p.w.after(max(0, p.clock.when(at)-p.w.now), func() {
		p.reaches(func() {
			switch {
			case n != *set:
			case p.clock.at(p.w.now) < at: // its rate has changed
				p.ring(at, set, do)
			default:
				do()
			}
		})
	})
}

// post stamps an event and puts it into the loop's inbox.
func (p *process) post(ev machine.Event) {
	p.reaches(func() {
		p.inbox = append(p.inbox, machine.Stamped(ev, p.clock.at(p.w.now)))
		p.nextTurn()
	})
}

func (p *process) nextTurn() {
	if p.turn || len(p.inbox) == 0 && !p.rung {
		return
	}
	p.turn = true
	p.later(1, int64(time.Millisecond), func() {
		p.turn = false
		p.step()
		p.nextTurn()
	})
}

// take is the shell's select: what came in, or that the clock has rung, in any order.
func (p *process) take() machine.Event {
	if p.rung && (len(p.inbox) == 0 || p.chance.oneIn(2)) {
		p.rung = false
		return machine.Stamped(member.Woken{}, p.clock.at(p.w.now))
	}
	ev := p.inbox[0]
	p.inbox = p.inbox[1:]
	return ev
}

// step takes one event in and does what follows.
func (p *process) step() {
	ev := p.take()
	fx := p.w.machine.Step(p.state, ev)
	p.w.stepped(p, ev, fx)
	until := len(fx)
	if p.dieAt >= 0 {
		until = min(until, p.dieAt)
	}
	for _, e := range fx[:until] {
		if p.do(e); !p.up {
			return
		}
	}
	if p.dieAt >= 0 && len(fx) > 0 {
		p.w.count(machine.CrashBetween, p.phase())
		p.die()
		return
	}
	if now := p.phase(); now != p.proven {
		p.proven = now
		p.w.entered(p, now)
		p.w.notice()
	}
}

func (p *process) do(e machine.Effect) {
	if c, ok := p.w.machine.Call(e); ok {
		p.call(e, c)
		return
	}
	switch e := e.(type) {
	case member.WakeAt:
		p.wakes++
		p.rung = false // setting a timer again takes back that it has fired
		p.ring(e.At, &p.wakes, func() {
			p.rung = true
			p.nextTurn()
		})
	case member.Assign:
		p.assign(e.Assignment)
	case member.Applying:
		p.w.oracle.applied(p, e.Value)
	case member.Reply:
		p.w.client.reply(e)
	case member.Left:
		p.end()
	case member.Halt:
		p.w.oracle.halted(p, e.Err)
		p.end()
	}
}

// now is what its clock shows: while a call is made, what it showed when the call was sent.
func (p *process) now() protocol.Instant {
	if a := p.handle.attempt; a != nil {
		return a.sent
	}
	return p.clock.at(p.w.now)
}

// people is what its clock for people shows.
func (p *process) people() time.Time { return time.Unix(1_700_000_000, p.w.now).Add(p.wall).UTC() }

// phase is how far it has come.
func (p *process) phase() string { return p.w.machine.Phase(p.state) }

// joined tells whether the process takes part.
func (p *process) joined() bool { return slices.Contains(p.w.machine.Joined, p.phase()) }

// end is the end in order: what the shell does after its loop.
func (p *process) end() {
	p.handle.fate = model.Fine
	if p.cutOut || p.w.disk.away {
		p.handle.fate = model.NoRequest
	}
	p.caller.Close(context.Background())
	p.guard.lose() // it is dismissed
	p.die()
}

// die ends the process.
func (p *process) die() {
	if !p.up {
		return
	}
	p.up = false
	p.w.note("%s dies", p.label())
	p.waiting, p.inbox = nil, nil
	if p.guard == nil {
		for _, r := range p.runs {
			p.w.oracle.ended(r)
		}
	} else {
		p.guard.died(p.runs)
	}
	p.runs = nil
	p.w.disk.died(p)
	p.w.died(p)
}

// pause stops the process; what comes meanwhile waits.
func (p *process) pause(d int64) {
	if p.paused || !p.up {
		return
	}
	p.paused = true
	p.pauses++
	n := p.pauses
	p.w.after(d, func() {
		if n == p.pauses {
			p.resume()
		}
	})
}

func (p *process) resume() {
	if !p.paused || !p.up {
		return
	}
	for _, do := range p.waiting {
		p.later(1, int64(3*time.Millisecond), do)
	}
	p.paused, p.waiting = false, nil
}

// leased tells whether the process, if it looked, would find its lease valid now.
func (p *process) leased() bool { return p.clock.at(p.w.now) < p.taken.ValidUntil }
