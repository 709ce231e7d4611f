package lease

import (
	"strings"

	"github.com/rota-run/rota/proof/sim/machine"
	"github.com/rota-run/rota/proof/sim/walk"
	"github.com/rota-run/rota/protocol/lease"
	"github.com/rota-run/rota/protocol/member"
	"github.com/rota-run/rota/store"
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

func key(b []byte, s machine.State, n *walk.Names) []byte { return s.(lease.State).AppendKey(b, n) }

func effect(b []byte, e machine.Effect, n *walk.Names) []byte {
	return lease.AppendEffect(b, e.(member.Effect), n)
}

func event(b []byte, ev machine.Event, _ machine.State, n *walk.Names) []byte {
	return n.Any(b, ev, "Written.ID")
}

func document(b []byte, d store.Doc, n *walk.Names) []byte { return lease.AppendDoc(b, d, n) }
