package replica

import "github.com/rota-run/rota/proof/sim/machine"

// faults are those of the standard table, in the phases of a member of replica.
func faults() []machine.Fault {
	joined := []string{"joined"}
	return append(machine.Table(machine.Phases{
		All:     []string{"reading", "claim", "heartbeat", "join", "prepared", "joined", "confirm", "removed", "leaving"},
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
	}), machine.Guardians([]string{"join", "prepared", "joined", "confirm", "leaving"})...)
}
