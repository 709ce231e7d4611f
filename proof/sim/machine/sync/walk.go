package sync

import (
	"cmp"
	"slices"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/internal/protocol/sync"
	"github.com/rota-run/rota/proof/sim/machine"
	"github.com/rota-run/rota/proof/sim/machine/inside"
	"github.com/rota-run/rota/proof/sim/walk"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// Rules are those of sync's walks.
func Rules() *walk.Rules {
	return &walk.Rules{
		Machine: Machine(), Way: way, Read: read, Beat: beat, Before: before, Key: key, Effect: effect,
		Event: walk.Appended, Value: value,
		Heartbeat: func(string) bool { return false },
	}
}

// way: a generation is a fact for each member at a time of its own; all other answers of the group come as soon as it
// gives them. What a member says of itself changes nothing: it is written at once.
func way(_ walk.Config, e machine.Effect) walk.Way {
	switch e := e.(type) {
	case sync.Append:
		if !slices.ContainsFunc(e.Entry.Commands, changes) {
			return walk.Unseen
		}
		return walk.Risky
	case sync.SyncGroup:
		return walk.Quiet
	case member.ReadLog:
		if e.After == 0 {
			return walk.Unseen
		}
		return walk.Ignored
	case member.SaveSnapshot:
		return walk.Ignored
	}
	return walk.Unseen
}

func changes(c cluster.Command) bool {
	_, own := c.(cluster.Own)
	return !own
}

// read decodes the records, as a member's caller does.
func read(_ machine.State, p store.Page) machine.Event {
	for i, r := range p.Records {
		p.Records[i].Data = sync.Binary(r.Data)
	}
	return member.Read{Page: p}
}

func effect(b []byte, e machine.Effect, n *walk.Names) []byte {
	if a, ok := e.(sync.Append); ok {
		return n.Entry(append(b, 'a'), a.Entry)
	}
	return n.Any(append(b, 'e'), e)
}

// value appends the parts of the value that decide its next change, other than members and owners.
func value(b []byte, v *cluster.Value, n *walk.Names) []byte {
	e, _ := v.Epoch()
	b = n.Any(b, e, "Announcement.SinceMS")
	for p := range v.Partitions() {
		b = n.All(b, p.Deaths, p.Attempts)
	}
	return b
}

// key appends what decides a member's future: states with equal keys do the same from now on, as long as they have
// equal Params without a Poll and without a Longest, their values are alike, and nobody's history diverges. Of instants
// it has what was before what.
func key(b []byte, of machine.State, n *walk.Names) []byte {
	s := &of.(*State).State
	in := inside.Into(s)
	l, g := &s.Log, in.At("group")
	b = n.All(b,
		s.Is, s.Stop, s.Inc, s.Work.Changed, s.Own.Held, s.Reports, s.Contact.Problem != "", s.Contact.Refuses,
		before(of, s.Own.Acked), s.Own.Lapsed(s.At, s.Timing),
		s.At >= inside.Get[protocol.Instant](g, "next"), s.At < s.Given.ValidUntil, s.Behind(), l.Busy, l.Hint, l.Snap,
	)
	for _, path := range [...]string{
		"told", "group.id", "group.generation", "group.leads", "group.need", "group.busy", "group.begun",
	} {
		b = n.Any(b, in.At(path).Any())
	}
	if inside.Get[bool](g, "leads") {
		for _, m := range inside.Get[[]sync.Companion](g, "members") {
			b = n.All(b, m.ID, m.Join.Member, m.Bad)
		}
	}
	for _, a := range s.Given.Grants {
		b = n.All(b, a.Partition, a.Token, a.Attempt)
	}
	return inside.Box(b, n, s.Writer(), &l.Out)
}

// before tells whether an instant was before the present epoch was applied.
func before(s machine.State, sent protocol.Instant) bool {
	return sent < inside.Get[protocol.Instant](inside.Into(&s.(*State).State), "epochAt")
}

// beat is the heartbeat that a member may send now; nil if another call comes first.
func beat(of machine.State) machine.Effect {
	s := &of.(*State).State
	g := inside.Into(s).At("group")
	if inside.Get[bool](g, "busy") || s.Is == member.PhaseReading || g.At("need").Number() != needBeat {
		return nil
	}
	return sync.Beat{
		Seat:    store.Seat{ID: inside.Get[string](g, "id"), Generation: inside.Get[uint64](g, "generation")},
		Session: cmp.Or(inside.Get[time.Duration](g, "ttl"), s.Pace.TTL(s.Timing)),
	}
}

// needBeat is what a group needs whose generation is a fact.
const needBeat = 2
