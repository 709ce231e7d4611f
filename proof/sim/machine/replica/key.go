package replica

import (
	"github.com/rota-run/rota/internal/protocol/heartbeat"
	"github.com/rota-run/rota/proof/sim/machine"
	"github.com/rota-run/rota/proof/sim/machine/inside"
	"github.com/rota-run/rota/proof/sim/walk"
)

// key appends what decides a member's future: states with equal keys do the same from now on, as long as they have equal Params and their values
// are alike, and nobody's history diverges. The value itself, chain hashes, snapshots, requests that wait and what people are told of the store are left out.
func key(b []byte, of machine.State, n *walk.Names) []byte {
	s := &of.(*State).State
	in := inside.Into(s)
	l := &s.Log
	for _, x := range [...]any{
		s.Is, s.At, s.Life, s.Inc, s.Joined, s.Stop, s.Own, s.Pace, s.Behind(), s.Given.ValidUntil, s.Reports, s.Work.Changed, s.Work.Holds,
		l.Began, l.Busy, l.Hint, l.Snap, l.Saving, l.Next, l.Rest, l.Out.Next,
	} {
		b = n.Any(b, x)
	}
	for _, path := range [...]string{"watching", "sweep", "check", "checkSent", "claim"} {
		b = n.Any(b, in.At(path).Any(), "Observation.Before")
	}
	for _, g := range s.Given.Grants {
		b = n.Any(n.Any(n.Any(append(b, 1), g.Partition), g.Token), g.Attempt)
	}
	for _, o := range inside.Get[heartbeat.Observations](in, "heartbeats") {
		if n.Known(o.Key) {
			b = n.Any(append(b, 2), o, "Observation.Before")
		}
	}
	return inside.Box(append(b, 0), n, s.Writer(), &l.Out)
}
