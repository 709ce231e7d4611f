// Package sync is the protocol sync as a machine for the simulator and the checker.
package sync

import (
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/internal/protocol/sync"
	"github.com/rota-run/rota/proof/sim/machine"
	"github.com/rota-run/rota/proof/sim/machine/inside"
	"github.com/rota-run/rota/store"
)

// Machine is sync.
func Machine() *machine.Machine {
	return &machine.Machine{
		Name: "sync", Joined: []string{"joined", "apart"}, Faults: faults(), Group: true,
		Start: start, Step: machine.Steps(step), Call: call, Caller: caller,
		Watches: func(machine.State) ([]string, bool) { return nil, true },
		Fold:    fold, Encode: encode, Stray: func(*cluster.Value, []store.Doc) string { return "" }, Gap: gap,
		Recovery: recovery,
	}
}

// faults are what can hit a member of sync, and in which phases.
func faults() []machine.Fault {
	joined := []string{"joined"}
	whole := []string{machine.Cluster}
	return machine.Table(machine.Phases{
		All:     []string{"reading", "joining", "waiting", "joined", "apart", "removed", "leaving"},
		Writes:  []string{"joined", "leaving"},
		Renews:  joined,
		Told:    []string{"waiting", "joined", "leaving"},
		Leaves:  []string{"reading", "joining", "waiting", "joined", "apart", "removed"},
		Doubled: []string{"waiting", "joined", "apart", "leaving"},
		Runs:    joined,
		Stops:   []string{"joined", "apart", "leaving"},
		Guarded: []string{"waiting", "joined"},

		Log:      whole,
		Rewrites: whole,
		Group:    whole,
	})
}

// State is a member's.
type State struct{ sync.State }

// Phase is how far a member has come: as one that joins or takes part also with its group.
func (s *State) Phase() string {
	fact := inside.Into(&s.State).At("group.need").Number() == needBeat
	switch {
	case s.Is == member.PhaseJoining && !fact:
		return "joining"
	case s.Is == member.PhaseMember && !fact:
		return "apart"
	}
	return [...]string{"reading", "", "", "waiting", "joined", "", "removed", "leaving", "gone", "halted"}[s.Is]
}

func start(s machine.Start) machine.State {
	s.Longest = min(s.Longest, 2*s.TTL)
	return &State{sync.NewState(s.Params)}
}

func step(s *State, ev member.Event) []member.Effect { return sync.Step(&s.State, ev) }

func caller(s machine.Start, st machine.Store) machine.Caller {
	return sync.NewCaller(machine.LogCaller(s, st))
}

// fold is the truth behind a record.
func fold(before cluster.Value, r store.Record) (machine.Change, error) {
	r.Data = sync.Binary(r.Data)
	return machine.FoldLog(before, r)
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

// gap is G4: the TTL until the group has removed the silent one, twice where a change of the group waits for it first;
// an eighth of it until the others hear of that; a poll until the epoch is announced, and one until it is read.
func gap(t machine.Times, k machine.Kind) time.Duration {
	d := 4*t.Poll + 12*t.Slowest
	if k == machine.LeaveInOrder {
		return d + t.TTL/2
	}
	return d + 2*t.TTL + t.TTL/2
}

// recovery is G9: two changes of the group, one after the other, and the back-off of runs that failed.
func recovery(t machine.Times) time.Duration {
	return 5*t.TTL + 40*t.Poll + 40*t.Slowest
}
