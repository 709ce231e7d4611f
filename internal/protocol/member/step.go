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
