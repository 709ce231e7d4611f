package member

import "github.com/rota-run/rota/cluster"

// Machine is a protocol in the step of one event.
type Machine interface {
	// Index is that of the newest value.
	Index() cluster.Index
	// Take takes in an event that is not the core's alone.
	Take(ev Event)
	// Advance does what the state asks for. It is level-triggered: it looks at the state alone, not at what led to it.
	Advance()
	// Stand is asked for in each phase. While the member makes sure of its name, it may look at who has that.
	Stand() Stand
	// Again gives up what is of the life that is over.
	Again()
}

// Dropper is a machine that gives something up with its lease, at once.
type Dropper interface{ Drop() }

// Step takes one event in, and returns what is to be done then. Whether the lease has run out is judged before: what
// comes after its end is late.
func (c *Core) Step(m Machine, ev Event) []Effect {
	if c.Over() {
		return nil
	}
	c.At = max(c.At, ev.At())
	lost(m, c.CheckLease())
	switch ev := ev.(type) {
	case Woken:
	case Reported:
		c.Reports, c.Reported, c.Silent = ev.Reports, ev.Version, false
	case Renewed:
		lost(m, c.Renewed(ev))
	case Closed:
		c.Halt(m.Index(), ev.Err)
	case Stop:
		c.Leave(m.Index(), ev.Reason)
	default:
		m.Take(ev)
	}
	if c.Is != PhaseHalted {
		m.Advance()
	}
	return c.End()
}

func lost(m Machine, lease bool) {
	if d, ok := m.(Dropper); ok && lease {
		d.Drop()
	}
}

// Stand is what a protocol can prove of where its member stands. The zero one proves nothing: no phase changes by it.
type Stand struct {
	Ready  bool                // it has read what was there at its start
	Free   bool                // no other live process has its name, and nothing of a former life is in its way
	Waits  bool                // another start was quicker
	In     bool                // this life is in
	Joined bool                // and takes part
	Out    bool                // this membership is over
	Inc    cluster.Incarnation // in which it is in
}

// Walk goes from phase to phase as far as the protocol can prove.
func (c *Core) Walk(w Machine) {
	for range 8 { // more phases than follow each other
		before := c.Is
		if c.walk(w); c.Is == before {
			return
		}
	}
}

func (c *Core) walk(w Machine) {
	s := w.Stand()
	switch {
	case c.Is < PhaseMember:
		c.approach(s)
	case c.Is == PhaseMember || c.Is == PhaseConfirming:
		c.stay(w, s)
	case c.Is == PhaseLeaving && s.In: // after all, or confirmed
		c.Inc = max(c.Inc, s.Inc)
	case c.Is == PhaseRemoved && s.Free && c.Idle():
		c.Life++
		c.Inc, c.Own = 0, Own{}
		w.Again()
		c.Is = PhaseNaming
	}
}

// approach is a step towards being a member.
func (c *Core) approach(s Stand) {
	switch {
	case c.Is == PhaseReading && s.Ready:
		c.Is = PhaseNaming
	case c.Is == PhaseNaming && s.Free:
		c.Is = PhaseBeginning
	case c.Is == PhaseBeginning && (c.Own.Held || c.lapse == Resume):
		c.Is = PhaseJoining
	case c.Is == PhaseJoining && s.In:
		c.enter(s)
	case c.Is == PhaseJoining && s.Waits:
		c.Is = PhaseNaming // another start was quicker
	}
}

// stay is what the cluster says of who is a member.
func (c *Core) stay(w Machine, s Stand) {
	switch {
	case s.Out && (c.Is != PhaseConfirming || !s.In):
		c.Remove(w.Index(), "the cluster has removed it")
	case c.Is == PhaseMember || s.In:
		c.enter(s)
	}
}

// enter takes in that this life is in. That it is joined is said once in a life.
func (c *Core) enter(s Stand) {
	c.Is, c.Inc = PhaseMember, max(c.Inc, s.Inc)
	if s.Joined && !c.Joined {
		c.Joined = true
		c.Emit(Joining{Incarnation: c.Inc})
	}
}

// Remove takes in that others go on without the member.
func (c *Core) Remove(index cluster.Index, reason string) {
	c.Is, c.Joined = PhaseRemoved, false
	c.Revoke(index, 0)
	c.Emit(Removing{Reason: reason})
}

// Phase is how far this start of a member has come. No protocol has all of them.
type Phase uint8

// The phases, in this order.
const (
	PhaseReading    Phase = iota // folding the log up to the head seen at the start: nothing is said before
	PhaseNaming                  // making sure that no other live process has our name
	PhaseBeginning               // the heartbeat is being written for the first time
	PhaseJoining                 // asks to be taken in
	PhaseMember                  // is in
	PhaseConfirming              // its lease has run out: it must not go on before it was confirmed under a new heartbeat
	PhaseRemoved                 // found itself removed: waits for its work to stop, then joins again
	PhaseLeaving                 // stops its work, then says that it leaves
	PhaseGone                    // it has left gracefully
	PhaseHalted                  // over, because going on would be wrong
)
