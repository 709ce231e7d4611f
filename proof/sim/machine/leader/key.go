package leader

import (
	"slices"
	"strings"

	"github.com/rota-run/rota/internal/protocol/outbox"
	"github.com/rota-run/rota/proof/sim/machine"
	"github.com/rota-run/rota/proof/sim/machine/inside"
	"github.com/rota-run/rota/proof/sim/walk"
)

// key appends what decides a member's future: states with equal keys do the same from now on, as long as they have equal Params, their values are
// alike, and nobody's history diverges. Fields that decide nothing, or follow from the rest, are skipped.
func key(b []byte, of machine.State, n *walk.Names) []byte {
	s, skip := &of.(*State).State, unkeyed()
	in := inside.Into(s)
	for _, x := range [...]any{
		s.Is, s.At, s.Life, s.Stop, s.Inc, s.Own, s.Pace, s.Reports, s.Behind(), s.Given.Version == 0, s.Given, s.Wake, s.Contact.Problem != "", s.Contact.Refuses,
	} {
		b = n.Any(b, x, skip...)
	}
	for _, path := range [...]string{
		"admitted", "claims", "mailbox", "head", "fetch", "roster", "asks", "fold", "fold.Out.Next", "asks.Next", "vote", "heartbeats", "swept",
		"work.Duties", "changed", "busy", "rest",
		"rule.at", "rule.term", "rule.boxes.look", "rule.plans", "rule.offers", "rule.holds", "rule.listed", "rule.patrol", "rule.patrols",
	} {
		b = n.Any(b, in.At(path).Any(), skip...)
	}
	probing := in.At("probing").List()
	slices.SortFunc(probing, func(a, b inside.State) int {
		return strings.Compare(inside.Get[string](a, "key"), inside.Get[string](b, "key"))
	})
	for _, p := range probing {
		b = n.Any(append(b, 1), p.Any())
	}
	b = inside.Box(append(b, 0), n, s.Writer()+"-ask", inside.Ref[outbox.Box](in, "asks.Box"))
	b = inside.Box(b, n, s.Writer(), inside.Ref[outbox.Box](in, "fold.Out"))
	for _, path := range [...]string{"slots", "rule.boxes.all", "rule.docs", "rule.dirty"} {
		in.At(path).Each(func(key string, value any) { b = n.Any(n.Any(append(b, 1), key), value, skip...) })
		b = append(b, 0)
	}
	return b
}
