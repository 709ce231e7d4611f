package duty

import (
	"slices"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/protocol"
)

// Work is what a value asks of a member that knows it whole: what it runs, what it says of that, and what it does for
// others. The zero one is that of a member that has just started.
type Work struct {
	Derived
	Changed cluster.Index // Reactions.Changed that the assignment reflects
	Holds   Holds

	asked cluster.Reactions // at the index of the value
	at    cluster.Index
	calm  Calm
}

// Asks is what the value asks for besides duties. Every event asks for it, and only entries change it.
func (w *Work) Asks(c *member.Core, v cluster.Value) cluster.Reactions {
	if w.at != v.Index() {
		w.asked, w.at = v.Reactions(c.Member), v.Index()
	}
	return w.asked
}

// Again begins another life, in which nothing was given yet.
func (w *Work) Again() { w.Changed, w.Derived = 0, Derived{} }

// Assign derives what the supervisor should run, when that or the member's lease has changed.
func (w *Work) Assign(c *member.Core, v cluster.Value) {
	next := c.Given
	if r := w.Asks(c, v); r.Changed != w.Changed || next.Version == 0 {
		w.Changed, w.Derived, c.Silent = r.Changed, w.Derived.At(v, c.Member), false
		next = Granted(next, v.Index(), w.Grants)
	}
	c.Assign(next, c.Own.Until(c.Timing))
}

// Steps are the commands that say what became of the duties.
func (w *Work) Steps(c *member.Core) (out []cluster.Command) {
	if c.Behind() || c.Silent {
		return nil // the supervisor has yet to take in what it should do: "not reported" proves nothing
	}
	out, w.calm = w.calm.Steps(w.Duties, c.Reports, c.At, c.TTL)
	c.Silent = len(out) == 0 && len(w.calm) == 0
	return out
}

// Releases frees the grants of held members whose time is over.
func (w *Work) Releases(c *member.Core, v cluster.Value) (out []cluster.Command) {
	out, w.Holds = w.Holds.Release(slices.Values(w.Asks(c, v).Held), c.At, c.Hold)
	return out
}

// Granted returns the assignment with these grants, as of an index of the log. It is a new version if the supervisor has something to do.
func Granted(a protocol.Assignment, index cluster.Index, grants []*protocol.Grant) protocol.Assignment {
	a.Index = index
	if a.Version == 0 || !slices.EqualFunc(grants, a.Grants, same) {
		a.Grants, a.Version = grants, a.Version+1
	}
	return a
}

// same reports whether two grants ask for the same run.
func same(a, b *protocol.Grant) bool {
	return a == b || a.Partition == b.Partition && a.Token == b.Token && a.Attempt == b.Attempt && a.SpecIndex == b.SpecIndex
}
