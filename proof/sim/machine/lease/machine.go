// Package lease is the protocol lease as a machine for the simulator and the checker. The truth is assembled from the
// documents, as the protocol itself does it.
package lease

import (
	"strings"
	"sync"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/lease"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/proof/sim/machine"
	"github.com/rota-run/rota/proof/sim/machine/inside"
	"github.com/rota-run/rota/store"
)

// Machine is lease.
func Machine() *machine.Machine {
	return &machine.Machine{
		Name: "lease", Joined: []string{"joined", "leader"}, Faults: faults(),
		Start: start, Step: machine.Steps(step), Call: call, Caller: caller,
		Watches: func(s machine.State) ([]string, bool) { return s.(*State).Watching() },
		Truth:   truth, Stray: stray, Gap: gap, Recovery: recovery, Leads: "leader",
	}
}

// faults are what can hit a member of lease, and in which phases. What happens to a log cannot happen to documents.
func faults() []machine.Fault {
	works, whole := []string{"joined", "leader"}, []string{machine.Cluster}
	return machine.Table(machine.Phases{
		All:     []string{"name", "beat", "join", "joined", "leader", "leaving"},
		Writes:  []string{"beat", "join", "joined", "leader", "leaving"},
		Renews:  works,
		Looks:   works,
		Begins:  []string{"beat"},
		Told:    works,
		Lists:   []string{"leader"},
		Leaves:  []string{"name", "beat", "join", "joined", "leader"},
		Doubled: works,
		Runs:    works,
		Stops:   []string{"joined", "leader", "leaving"},
		Dirty:   []string{"name", "join", "joined", "leader", "leaving"},
		Torn:    []string{"join", "joined", "leader", "leaving"},
		Takes:   works,
		Guarded: []string{"join", "joined", "leader", "leaving"},

		Sessions: whole,
		Leaders:  whole,
	})
}

// State is a member's.
type State struct{ lease.State }

// Phase is "leader" for a member that leads, else how far it has come.
func (s *State) Phase() string {
	if s.Is == member.PhaseMember && inside.Get[bool](inside.Into(&s.State), "lead.holds") {
		return "leader"
	}
	return [...]string{"", "name", "beat", "join", "joined", "", "removed", "leaving", "gone", "halted"}[s.Is]
}

func start(s machine.Start) machine.State { return &State{lease.NewState(s.Params)} }

func step(s *State, ev member.Event) []member.Effect { return lease.Step(&s.State, ev) }

func caller(s machine.Start, st machine.Store) machine.Caller {
	c := &lease.Caller{BeatCaller: machine.BeatCaller(s, st)}
	c.Fenced = true
	return c
}

// truth is what the documents say after a change of one of them.
func truth() machine.Truth {
	var mu sync.Mutex // walks of one state and another share what is decoded
	var a lease.Assembler
	return func(before cluster.Value, docs func() []store.Doc, key string) machine.Change {
		for _, prefix := range [...]string{"lock/", "node/", "view/", "protocol", "position/", "journal/"} {
			if strings.HasPrefix(key, prefix) {
				return machine.Change{After: before}
			}
		}
		mu.Lock()
		defer mu.Unlock()
		return machine.Change{After: a.Assemble(docs())}
	}
}

func call(e machine.Effect) (machine.Call, bool) {
	switch e := e.(type) {
	case lease.Fetch:
		for _, k := range e.Keys {
			if strings.HasPrefix(k, "node/") {
				return machine.Call{Looks: true, Whom: machine.Owner(k, "node/"), Reads: len(e.Keys) > 1}, true
			}
		}
		return machine.Call{Reads: len(e.Keys) > 1}, true
	case lease.Survey:
		return machine.Call{List: true, Looks: true, Reads: true}, true
	case lease.Write:
		return machine.Call{Write: true, Takes: e.Doc.Key == "config"}, true
	case lease.ReadView:
		return machine.Call{}, true
	case lease.Show:
		return machine.Call{Write: true}, true
	}
	return machine.Shared(e)
}

// stray is a partition of no job.
func stray(v *cluster.Value, docs []store.Doc) string {
	for _, d := range docs {
		name, partition := strings.CutPrefix(d.Key, "partition/")
		job, _, _ := strings.Cut(name, "=") // an escaped "/"
		if _, there := v.Job(cluster.JobID(job)); partition && !there {
			return d.Key
		}
	}
	return ""
}

// gap is G4: T(1+ρ) of silence, twice where the leader went too with its rank's delay; then the looks of the leader, of
// its pass, of the board and of the claim.
func gap(t machine.Times, k machine.Kind) time.Duration {
	return t.Gap(k, 14*t.Poll+20*t.Slowest, 2*t.TTL*1050/1000)
}

// recovery is G9: as gap, and the back-off of runs that failed, and the patience with whoever may claim first.
func recovery(t machine.Times) time.Duration {
	return 4*t.TTL*1050/1000 + 60*t.Poll + 80*t.Slowest
}
