// Package replica is the protocol replica as a machine for the simulator and the checker.
package replica

import (
	"path"
	"time"

	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/internal/protocol/replica"
	"github.com/rota-run/rota/proof/sim/machine"
	"github.com/rota-run/rota/proof/sim/machine/inside"
	"github.com/rota-run/rota/protocol"
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
