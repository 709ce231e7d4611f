package lease

import "github.com/rota-run/rota/proof/sim/machine"

// faults are those of the standard table, in the phases of a member of lease. What happens to a log cannot happen to documents.
func faults() []machine.Fault {
	works := []string{"joined", "leader"}
	table := machine.Table(machine.Phases{
		All:     []string{"name", "beat", "join", "joined", "leader", "leaving"},
		Writes:  []string{"beat", "join", "joined", "leader", "leaving"},
		Renews:  works,
		Looks:   works,
		Begins:  []string{"beat"},
		Told:    works,
		Lists:   []string{"leader"},
		Leaves:  []string{"name", "beat", "join", "joined", "leader"},
		Doubled: []string{"joined", "leader"},
		Runs:    works,
		Stops:   []string{"joined", "leader", "leaving"},
	})
	table = append(table,
		machine.Fault{Kind: machine.DirtyRead, Weight: 6, Phases: []string{"name", "join", "joined", "leader", "leaving"}, Suits: func(c machine.Call) bool { return !c.Write && !c.Renew }},
		machine.Fault{Kind: machine.TornCall, Phases: []string{"join", "joined", "leader", "leaving"}, Suits: func(c machine.Call) bool { return c.Reads }},
		machine.Fault{Kind: machine.LateIndex, Phases: works, Suits: func(c machine.Call) bool { return c.Takes }},
		machine.Fault{Kind: machine.TwoLeaders, Phases: []string{machine.Cluster}},
	)
	table = append(table, machine.Guardians([]string{"join", "joined", "leader", "leaving"})...)
	return machine.Without(table, machine.Truncation, machine.Garbage, machine.Foreign, machine.TailLost, machine.NewerEntry)
}
