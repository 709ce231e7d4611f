package main

import (
	"fmt"
	"strings"

	"github.com/rota-run/rota/sim/machine"
	"github.com/rota-run/rota/sim/machine/replica"
)

// machines are the protocols, in the order of their names.
func machines() []*machine.Machine {
	return []*machine.Machine{replica.Machine()}
}

// machineOf is the protocol of a name.
func machineOf(name string) (*machine.Machine, error) {
	var names []string
	for _, m := range machines() {
		if m.Name == name {
			return m, nil
		}
		names = append(names, m.Name)
	}
	return nil, fmt.Errorf("unknown protocol %q: there is %s\ntry: rotasim --protocol %s", name, strings.Join(names, ", "), names[0])
}
