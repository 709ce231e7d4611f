package sync

import (
	"slices"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/internal/protocol/sync"
	"github.com/rota-run/rota/proof/sim/machine"
	"github.com/rota-run/rota/proof/sim/walk"
	"github.com/rota-run/rota/store"
)

// Rules are those of sync's walks.
func Rules() *walk.Rules {
	return &walk.Rules{
		Machine: Machine(), Way: way, Read: read, Beat: beat, Before: before, Key: key, Effect: effect, Event: walk.Appended, Value: value,
		Heartbeat: func(string) bool { return false },
		Prompt:    func(walk.Store, machine.State, machine.Effect) bool { return false },
	}
}

// way: a generation is a fact for each member at a time of its own; all other answers of the group come as soon as it gives them. What a member says of
// itself changes nothing: it is written at once.
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
		b = n.Any(n.Any(b, p.Deaths), p.Attempts)
	}
	return b
}
