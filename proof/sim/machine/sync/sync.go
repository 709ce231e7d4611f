// Package sync is the protocol sync as a machine for the simulator and the checker.
package sync

import (
	"cmp"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/internal/protocol/sync"
	"github.com/rota-run/rota/proof/sim/machine"
	"github.com/rota-run/rota/proof/sim/walk"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// Machine is sync.
func Machine() *machine.Machine {
	return &machine.Machine{
		Name: "sync", Joined: []string{"joined", "apart"}, Faults: machine.Table("sync"), Group: true,
		Start: func(s machine.Start) machine.State {
			s.Longest = min(s.Longest, 2*s.TTL)
			m := sync.NewState(s.Params)
			return &m
		},
		Step: machine.Steps(sync.Step), Phase: phase, Call: call,
		Caller: func(s machine.Start, st machine.Store) machine.Caller {
			return sync.NewCaller(machine.LogCaller(s, st))
		},
		Watches: func(machine.State) ([]string, bool) { return nil, true },
		Fold: func(before cluster.Value, r store.Record) (machine.Change, error) {
			r.Data = sync.Binary(r.Data)
			return machine.FoldLog(before, r)
		},
		Encode: encode, Stray: func(*cluster.Value, []store.Doc) string { return "" },
		// The TTL until the group has removed the silent one, twice where a change of the group waits for it first;
		// half of it until the others hear of that; a poll until the epoch is announced, and one until it is read.
		Looks: machine.Bound{TTL: 500, Polls: 4, Trips: 12}, Silence: machine.Bound{TTL: 2000},
		// Two changes of the group, one after the other, and the back-off of runs that failed.
		Recovery: machine.Bound{TTL: 5000, Polls: 40, Trips: 40},
	}
}

// phase is how far a member has come: as one that joins or takes part also with its group.
func phase(of machine.State) string {
	s := of.(*sync.State)
	fact := machine.Into(s).At("group.need").Number() == needBeat
	switch {
	case s.Is == member.PhaseJoining && !fact:
		return "joining"
	case s.Is == member.PhaseMember && !fact:
		return "apart"
	}
	return [...]string{"reading", "", "", "waiting", "joined", "", "removed", "leaving", "gone", "halted"}[s.Is]
}

func encode(e cluster.Entry) []byte {
	b, err := sync.EncodeRecord(e, "none")
	if err != nil {
		panic(err) // the simulator says only what a record can
	}
	return b
}

func call(e machine.Effect) (machine.Call, bool) {
	switch e.(type) {
	case sync.Append:
		return machine.Call{Write: true}, true
	case sync.JoinGroup, sync.SyncGroup, sync.LeaveGroup:
		return machine.Call{Write: true, Group: true}, true
	case sync.Beat:
		return machine.Call{Renew: true, Group: true}, true
	}
	return machine.Shared(e)
}

// Rules are those of sync's walks.
func Rules() *walk.Rules {
	return &walk.Rules{
		Machine: Machine(), Way: way, Read: read, Beat: beat, Before: before, Key: key, Effect: effect,
		Value: value, Skip: []string{"Appended.Now", "Appended.Seq", "Appended.Data", "Announcement.SinceMS",
			"Grant.Spec", "Grant.From", "Grant.Cause"},
		Heartbeat: func(string) bool { return false },
	}
}

// way: a generation is a fact for each member at a time of its own; all other answers of the group come as soon as it
// gives them. What a member says of itself changes nothing: it is written at once.
func way(_ walk.Config, e machine.Effect) walk.Way {
	switch e := e.(type) {
	case sync.Append:
		for _, c := range e.Entry.Commands {
			if _, own := c.(cluster.Own); !own {
				return walk.Risky
			}
		}
		return walk.Unseen
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
	b = n.Any(b, e)
	for p := range v.Partitions() {
		b = n.Any(b, p.Deaths, p.Attempts)
	}
	return b
}

// key appends what decides a member's future: states with equal keys do the same from now on, as long as they have
// equal Params without a Poll and without a Longest, their values are alike, and nobody's history diverges. Of instants
// it has what was before what.
func key(b []byte, of machine.State, n *walk.Names) []byte {
	s := of.(*sync.State)
	in := machine.Into(s)
	l, g := &s.Log, in.At("group")
	b = n.Any(b,
		s.Is, s.Stop, s.Inc, s.Work.Changed, s.Own.Held, s.Reports, s.Contact.Problem != "", s.Contact.Refuses,
		before(of, s.Own.Acked), s.Own.Lapsed(s.At, s.Timing),
		s.At >= machine.Get[protocol.Instant](g, "next"), s.At < s.Given.ValidUntil, s.Behind(), l.Busy, l.Hint, l.Snap,
		s.Given.Grants,
	)
	b = n.Fields(b, in, "told", "group.id", "group.generation", "group.leads", "group.need", "group.busy",
		"group.begun")
	if machine.Get[bool](g, "leads") {
		for _, m := range machine.Get[[]sync.Companion](g, "members") {
			b = n.Any(b, m.ID, m.Join.Member, m.Bad)
		}
	}
	return n.Box(b, s.Writer(), &l.Out)
}

// before tells whether an instant was before the present epoch was applied.
func before(s machine.State, sent protocol.Instant) bool {
	return sent < machine.Get[protocol.Instant](machine.Into(s), "epochAt")
}

// beat is the heartbeat that a member may send now; nil if another call comes first.
func beat(of machine.State) machine.Effect {
	s := of.(*sync.State)
	g := machine.Into(s).At("group")
	if machine.Get[bool](g, "busy") || s.Is == member.PhaseReading || g.At("need").Number() != needBeat {
		return nil
	}
	return sync.Beat{
		Seat:    store.Seat{ID: machine.Get[string](g, "id"), Generation: machine.Get[uint64](g, "generation")},
		Session: cmp.Or(machine.Get[time.Duration](g, "ttl"), s.Pace.TTL(s.Timing)),
	}
}

// needBeat is what a group needs whose generation is a fact.
const needBeat = 2
