// Package replica is the protocol replica as a machine for the simulator and the checker.
package replica

import (
	"path"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/heartbeat"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/internal/protocol/replica"
	"github.com/rota-run/rota/proof/sim/machine"
	"github.com/rota-run/rota/proof/sim/walk"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// Machine is replica.
func Machine() *machine.Machine {
	return &machine.Machine{
		Name: "replica", Joined: []string{"joined"}, Faults: machine.Table("replica"),
		Start: func(s machine.Start) machine.State { m := replica.NewState(s.Params); return &m },
		Step:  machine.Steps(replica.Step), Phase: phase,
		Call: call, Fold: machine.FoldLog, Encode: cluster.Entry.Encode, Stray: machine.StrayHeartbeat,
		Watches: func(s machine.State) ([]string, bool) { // the successor's heartbeat
			if key := machine.Get[string](machine.Into(s), "watching"); key != "" {
				return []string{path.Dir(key) + "/"}, true
			}
			return nil, true
		},
		Caller: func(s machine.Start, st machine.Store) machine.Caller {
			return replica.NewCaller(machine.LogCaller(s, st))
		},
		// T(1+ρ) of silence, a poll until the last heartbeat is seen, one until the silence is noticed, one until the
		// entry is read; and the calls for it.
		Looks: machine.Bound{Polls: 4, Trips: 8}, Silence: machine.Bound{TTL: 1050},
		// One silence until the dead are out of the way of those who start under their names, one until those nobody
		// watched are found, and the back-off of runs that failed.
		Recovery: machine.Bound{TTL: 3 * 1050, Polls: 40, Trips: 40},
	}
}

func phase(of machine.State) string {
	s := of.(*replica.State)
	if s.Is == member.PhaseMember && s.Joined {
		return "joined"
	}
	return [...]string{"reading", "claim", "heartbeat", "join", "prepared", "confirm", "removed", "leaving", "gone",
		"halted"}[s.Is]
}

func call(e machine.Effect) (machine.Call, bool) {
	switch e := e.(type) {
	case replica.DropHeartbeat:
		return machine.Call{}, true
	case replica.CheckHeartbeat:
		return machine.Look(e.Key, protocol.HeartbeatPrefix), true
	case replica.ListHeartbeats:
		return machine.Call{List: true}, true
	}
	return machine.Shared(e)
}

// Rules are those of replica's walks.
func Rules() *walk.Rules {
	return &walk.Rules{
		Machine: Machine(), Way: way, Prompt: prompt, Names: names, JoinFirst: true, Key: key, Effect: effect,
		Skip: []string{"Appended.Now", "Appended.Seq", "Appended.Data", "Observation.Before", "Grant.Spec",
			"Grant.From", "Grant.Cause"},
		Heartbeat: func(string) bool { return true },
		Read:      func(_ machine.State, p store.Page) machine.Event { return member.Read{Page: p} },
	}
}

// way: a member's first heartbeat is written at once, for nobody knows of it; of another one somebody may have heard,
// and look.
func way(c walk.Config, e machine.Effect) walk.Way {
	switch e := e.(type) {
	case member.Append:
		return walk.Risky
	case member.Renew:
		if e.Life > 0 {
			return walk.Secret
		}
		return walk.Unseen
	case replica.CheckHeartbeat:
		return walk.Quiet
	case replica.ListHeartbeats:
		if c.Sweeps {
			return walk.Quiet
		}
	case member.ReadLog:
		if e.After == 0 {
			return walk.Unseen
		}
	case member.ReadSnapshot:
		return walk.Unseen
	}
	return walk.Ignored
}

// prompt: a look at a heartbeat that is there, a list without gaps.
func prompt(exists func(key string) bool, s machine.State, e machine.Effect) bool {
	if e, ok := e.(replica.CheckHeartbeat); ok {
		return exists(e.Key)
	}
	v := s.Value()
	for m := range v.Members() {
		if !exists(m.Heartbeat) { // nobody is held here
			return false
		}
	}
	return true
}

func names(e machine.Effect) []string {
	switch e := e.(type) {
	case member.Append:
		return walk.Heartbeats(nil, e.Entry.Commands)
	case member.Renew:
		return []string{e.Key}
	case replica.CheckHeartbeat:
		return []string{e.Key}
	}
	return nil
}

func effect(b []byte, e machine.Effect, n *walk.Names) []byte {
	switch e := e.(type) {
	case member.Append:
		return n.Entry(append(b, 'a'), e.Entry)
	case member.Renew:
		return append(append(append(b, 'r'), e.Key...), 0)
	case replica.CheckHeartbeat:
		return append(append(append(b, 'c'), e.Key...), 0)
	}
	return append(b, 'l')
}

// key appends what decides a member's future: states with equal keys do the same from now on, as long as they have
// equal Params and their values are alike, and nobody's history diverges. The value itself, chain hashes, snapshots,
// requests that wait and what people are told of the store are left out.
func key(b []byte, of machine.State, n *walk.Names) []byte {
	s := of.(*replica.State)
	in := machine.Into(s)
	l := &s.Log
	b = n.Any(b,
		s.Is, s.At, s.Life, s.Inc, s.Joined, s.Stop, s.Own, s.Pace, s.Behind(), s.Given.ValidUntil, s.Reports,
		s.Work.Changed, s.Work.Holds,
		l.Began, l.Busy, l.Hint, l.Snap, l.Saving, l.Next, l.Rest, l.Out.Next, s.Given.Grants,
	)
	b = n.Fields(b, in, "watching", "sweep", "check", "checkSent", "claim")
	for _, o := range machine.Get[heartbeat.Observations](in, "heartbeats") {
		if n.Known(o.Key) {
			b = n.Any(append(b, 2), o)
		}
	}
	return n.Box(append(b, 0), s.Writer(), &l.Out)
}
