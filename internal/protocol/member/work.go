package member

import (
	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
)

// Assign gives the supervisor an assignment, valid until an instant, unless it has that one.
func (c *Core) Assign(next protocol.Assignment, until protocol.Instant) {
	next.ValidUntil = until
	if next.Version != c.Given.Version || next.ValidUntil != c.Given.ValidUntil {
		c.Given = next
		c.Emit(Assign{Assignment: next})
	}
}

// Revoke takes all grants away from the supervisor.
func (c *Core) Revoke(index cluster.Index, lease protocol.Instant) {
	if len(c.Given.Grants) == 0 && c.Given.ValidUntil == lease && c.Given.Version > 0 {
		return
	}
	c.Given = protocol.Assignment{Index: index, Version: c.Given.Version + 1, ValidUntil: lease}
	c.Emit(Assign{Assignment: c.Given})
}

// Idle reports whether nothing runs here and nothing will be started under grants that were taken away.
func (c *Core) Idle() bool { return len(c.Given.Grants) == 0 && len(c.Reports) == 0 && !c.Behind() }

// Behind reports whether the supervisor has yet to take in what it should do: then "not reported" proves nothing.
func (c *Core) Behind() bool { return c.Reported < c.Given.Version }

// Assigned is what the supervisor was given last.
func (c Core) Assigned() protocol.Assignment { return c.Given }

// Tenure is the incarnation in which the member is joined, and until when it may act; zero while it is not.
func (c Core) Tenure() (cluster.Incarnation, protocol.Instant) {
	if c.Is != PhaseMember {
		return 0, 0
	}
	return c.Inc, c.Given.ValidUntil
}
