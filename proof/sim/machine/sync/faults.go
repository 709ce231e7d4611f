package sync

import "github.com/rota-run/rota/proof/sim/machine"

// faults are those of the standard table, in the phases of a member of sync, and those of its group.
func faults() []machine.Fault {
	joined := []string{"joined"}
	whole := []string{machine.Cluster}
	table := machine.Table(machine.Phases{
		All:     []string{"reading", "joining", "waiting", "joined", "apart", "removed", "leaving"},
		Writes:  []string{"joined", "leaving"},
		Renews:  joined,
		Told:    []string{"waiting", "joined", "leaving"},
		Leaves:  []string{"reading", "joining", "waiting", "joined", "apart", "removed"},
		Doubled: []string{"waiting", "joined", "apart", "leaving"},
		Runs:    joined,
		Stops:   []string{"joined", "apart", "leaving"},
	})
	table = machine.Without(table, machine.SessionExpiry)
	table = append(table, machine.Guardians([]string{"waiting", "joined"})...)
	return append(table,
		machine.Fault{Kind: machine.GroupFails, Weight: 3, Phases: whole},
		machine.Fault{Kind: machine.Storm, Weight: 2, Phases: whole},
		machine.Fault{Kind: machine.GroupForgets, Phases: whole},
	)
}
