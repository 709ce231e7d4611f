// Package replica is the protocol replica as a machine for the simulator and the checker.
package replica

import (
	"path"
	"time"

	"github.com/rota-run/rota/internal/protocol/heartbeat"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/internal/protocol/replica"
	"github.com/rota-run/rota/proof/sim/machine"
	"github.com/rota-run/rota/proof/sim/machine/inside"
	"github.com/rota-run/rota/proof/sim/walk"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// Machine is replica.
func Machine() *machine.Machine {
	return &machine.Machine{
		Name: "replica", Joined: []string{"joined"}, Faults: faults(),
		Start: start, Step: machine.Steps(step), Call: call, Caller: caller, Watches: watches,
		Fold: machine.FoldLog, Stray: machine.StrayHeartbeat, Gap: gap, Recovery: recovery,
	}
}

// faults are what can hit a member of replica, and in which phases.
func faults() []machine.Fault {
	joined, whole := []string{"joined"}, []string{machine.Cluster}
	return machine.Table(machine.Phases{
		All: []string{"reading", "claim", "heartbeat", "join", "prepared", "joined", "confirm", "removed",
			"leaving"},
		Writes:  []string{"heartbeat", "join", "prepared", "joined", "confirm", "leaving"},
		Renews:  joined,
		Looks:   joined,
		Begins:  []string{"heartbeat", "confirm"},
		Told:    []string{"prepared", "joined", "leaving"},
		Lists:   []string{"prepared", "joined"},
		Leaves:  []string{"reading", "claim", "heartbeat", "join", "prepared", "joined", "confirm", "removed"},
		Doubled: []string{"prepared", "joined", "confirm", "leaving"},
		Runs:    joined,
		Stops:   []string{"joined", "confirm", "leaving"}, // a removed member has lapsed, and so stopped, before
		Guarded: []string{"join", "prepared", "joined", "confirm", "leaving"},

		Sessions: whole,
		Log:      whole,
		Rewrites: whole,
	})
}

// State is a member's.
type State struct{ replica.State }

// Phase is how far a member has come.
func (s *State) Phase() string {
	if s.Is == member.PhaseMember && s.Joined {
		return "joined"
	}
	return [...]string{"reading", "claim", "heartbeat", "join", "prepared", "confirm", "removed", "leaving", "gone",
		"halted"}[s.Is]
}

func start(s machine.Start) machine.State { return &State{replica.NewState(s.Params)} }

func step(s *State, ev member.Event) []member.Effect { return replica.Step(&s.State, ev) }

func caller(s machine.Start, st machine.Store) machine.Caller {
	return replica.NewCaller(machine.LogCaller(s, st))
}

// watches: the successor's heartbeat.
func watches(s machine.State) ([]string, bool) {
	key := inside.Get[string](inside.Into(&s.(*State).State), "watching")
	if key == "" {
		return nil, true
	}
	return []string{path.Dir(key) + "/"}, true
}

func call(e machine.Effect) (machine.Call, bool) {
	switch e := e.(type) {
	case replica.DropHeartbeat:
		return machine.Call{}, true
	case replica.CheckHeartbeat:
		return machine.Call{Looks: true, Whom: machine.Owner(e.Key, protocol.HeartbeatPrefix)}, true
	case replica.ListHeartbeats:
		return machine.Call{List: true}, true
	}
	return machine.Shared(e)
}

// gap is G4: T(1+ρ) of silence, a poll until the last heartbeat is seen, one until the silence is noticed, one until
// the entry is read; and the calls for it. Where the kernel tells, or the member itself, there is no silence.
func gap(t machine.Times, k machine.Kind) time.Duration {
	return t.Gap(k, 4*t.Poll+8*t.Slowest, t.TTL*1050/1000)
}

// recovery is G9: one silence until the dead are out of the way of those who start under their names, one until those
// nobody watched are found, and the back-off of runs that failed.
func recovery(t machine.Times) time.Duration {
	return 3*t.TTL*1050/1000 + 40*t.Poll + 40*t.Slowest
}

// Rules are those of replica's walks.
func Rules() *walk.Rules {
	return &walk.Rules{
		Machine: Machine(), Way: way, Prompt: prompt, Names: names, JoinFirst: true, Key: key, Effect: effect,
		Event:     walk.Appended,
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
	s := &of.(*State).State
	in := inside.Into(s)
	l := &s.Log
	b = n.All(b,
		s.Is, s.At, s.Life, s.Inc, s.Joined, s.Stop, s.Own, s.Pace, s.Behind(), s.Given.ValidUntil, s.Reports,
		s.Work.Changed, s.Work.Holds,
		l.Began, l.Busy, l.Hint, l.Snap, l.Saving, l.Next, l.Rest, l.Out.Next,
	)
	for _, path := range [...]string{"watching", "sweep", "check", "checkSent", "claim"} {
		b = n.Any(b, in.At(path).Any(), "Observation.Before")
	}
	for _, g := range s.Given.Grants {
		b = n.All(append(b, 1), g.Partition, g.Token, g.Attempt)
	}
	for _, o := range inside.Get[heartbeat.Observations](in, "heartbeats") {
		if n.Known(o.Key) {
			b = n.Any(append(b, 2), o, "Observation.Before")
		}
	}
	return inside.Box(append(b, 0), n, s.Writer(), &l.Out)
}
