package lease

import (
	"slices"
	"strings"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/lease"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/proof/sim/machine"
	"github.com/rota-run/rota/proof/sim/walk"
	"github.com/rota-run/rota/protocol"
)

// Rules are those of lease's walks.
func Rules() *walk.Rules {
	return &walk.Rules{
		Machine: Machine(), Way: way, Prompt: func(walk.Store, machine.State, machine.Effect) bool { return true }, Settled: true,
		Folds:     func(machine.State) bool { return false },
		Heartbeat: func(key string) bool { return strings.HasPrefix(key, "node/") },
		Key:       key, Effect: effect, Event: event, Doc: document,
	}
}

// way: reads are prompt, for members hear of changes. What only tells again of what documents say is written at once: views and the board.
func way(_ walk.Config, e machine.Effect) walk.Way {
	switch e := e.(type) {
	case lease.Write:
		if e.Doc.Key == "lock/board" {
			return walk.Quiet
		}
		return walk.Risky
	case member.Renew:
		return walk.Unseen
	}
	return walk.Quiet
}

func value(b []byte, v cluster.Value, n *walk.Names) []byte {
	for m := range v.Members() {
		b = all(b, n, m.ID, m.State, m.Incarnation, m.Heartbeat, m.Draining)
	}
	for p := range v.Partitions() {
		b = all(b, n, p.ID, p.Owner, p.State, p.Token, p.Offered, p.Dropped, p.Next, p.Slot)
	}
	return b
}

func all(b []byte, n *walk.Names, xs ...any) []byte {
	for _, x := range xs {
		b = n.Any(b, x)
	}
	return b
}

func effect(b []byte, e machine.Effect, n *walk.Names) []byte {
	switch e := e.(type) {
	case lease.Fetch:
		return all(b, n, "fetch", e.Keys)
	case lease.Survey:
		heartbeats := slices.DeleteFunc(slices.Clone(e.Keys), func(key string) bool { return !strings.HasPrefix(key, protocol.NodePrefix) })
		return all(b, n, "survey", heartbeats)
	case lease.Write:
		return document(all(b, n, "write", e.Delete), e.Doc, n)
	case member.Renew:
		return all(b, n, "renew", e.Key, e.Create)
	case lease.ReadView:
		return n.Any(b, "read view")
	case lease.Show:
		return value(n.Any(b, "show"), e.Value, n)
	}
	return b
}

func event(b []byte, ev machine.Event, _ machine.State, n *walk.Names) []byte {
	return n.Any(b, ev, "Written.ID")
}
