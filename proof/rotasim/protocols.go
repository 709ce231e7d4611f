package main

import (
	"fmt"
	"strings"

	"github.com/rota-run/rota/proof/sim/machine"
	"github.com/rota-run/rota/proof/sim/machine/leader"
	"github.com/rota-run/rota/proof/sim/machine/lease"
	"github.com/rota-run/rota/proof/sim/machine/replica"
	"github.com/rota-run/rota/proof/sim/machine/sync"
	"github.com/rota-run/rota/proof/sim/walk"
)

// protocol is one that can be tried out.
type protocol struct {
	*machine.Machine
	rules       *walk.Rules
	push, night []walk.Config // the bounds that each change, and each night, is walked within
	guardians   []walk.Config // those of each change in which processes have guardians
}

// protocols are all that there are.
func protocols() []protocol {
	return []protocol{
		{leader.Machine(), leader.Rules(), pushLeader(), nightLeader(), nil},
		{lease.Machine(), lease.Rules(), pushLease(), nightLease(), nil},
		{replica.Machine(), replica.Rules(), pushReplica(), nightReplica(), guardianReplica()},
		{sync.Machine(), sync.Rules(), pushSync(), nightSync(), nil},
	}
}

// protocolOf is the protocol of a name.
func protocolOf(name string) (protocol, error) {
	var names []string
	for _, p := range protocols() {
		if p.Name == name {
			return p, nil
		}
		names = append(names, p.Name)
	}
	return protocol{}, fmt.Errorf("unknown protocol %q: there is %s\ntry: rotasim --protocol %s", name, strings.Join(names, ", "), names[0])
}
