// Package lease is the protocol lease as a machine for the simulator and the checker. The truth is assembled from the
// documents, as the protocol itself does it.
package lease

import (
	"strings"
	"sync"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/protocol/lease"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/proof/sim/machine"
	"github.com/rota-run/rota/store"
)

// Machine is lease.
func Machine() *machine.Machine {
	return &machine.Machine{
		Name: "lease", Joined: []string{"joined", "leader"}, Faults: machine.Table("lease"),
		Start: func(s machine.Start) machine.State { m := lease.NewState(s.Params); return &m },
		Step:  machine.Steps(lease.Step), Phase: phase, Call: call, Truth: truth, Encode: cluster.Entry.Encode, Stray: stray, Leads: "leader",
		Caller: func(s machine.Start, st machine.Store) machine.Caller {
			c := &lease.Caller{BeatCaller: machine.BeatCaller(s, st)}
			c.Fenced = true
			return c
		},
		Watches: func(s machine.State) ([]string, bool) { return s.(*lease.State).Watching() },
		// T(1+ρ) of silence, twice where the leader went too with its rank's delay; then the looks of the leader, of
		// its pass, of the board and of the claim.
		Looks: machine.Bound{Polls: 14, Trips: 20}, Silence: machine.Bound{TTL: 2 * 1050},
		// The same, and the back-off of runs that failed, and the patience with whoever may claim first.
		Recovery: machine.Bound{TTL: 4 * 1050, Polls: 60, Trips: 80},
	}
}

// phase is "leader" for a member that leads, else how far it has come.
func phase(of machine.State) string {
	s := of.(*lease.State)
	if s.Is == member.PhaseMember && machine.Get[bool](machine.Into(s), "lead.holds") {
		return "leader"
	}
	return [...]string{"", "name", "beat", "join", "joined", "", "removed", "leaving", "gone", "halted"}[s.Is]
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
		var c machine.Call
		for _, k := range e.Keys {
			if c = machine.Look(k, "node/"); c.Looks {
				break
			}
		}
		c.Reads = len(e.Keys) > 1
		return c, true
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
