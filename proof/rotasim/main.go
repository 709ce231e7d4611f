// Rotasim runs simulated clusters: many seeds under faults, one seed as a readable trace, or every order of a few
// events.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rota-run/rota/proof/sim/machine"
	"github.com/rota-run/rota/proof/sim/machine/leader"
	"github.com/rota-run/rota/proof/sim/machine/lease"
	"github.com/rota-run/rota/proof/sim/machine/replica"
	"github.com/rota-run/rota/proof/sim/machine/sync"
	"github.com/rota-run/rota/proof/sim/walk"
)

// errBroken says that a promise was broken: it was printed, and the exit code says so too.
var errBroken = errors.New("a promise was broken")

func main() {
	debug.SetGCPercent(400) // what is walked stays; see also seeds
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := command().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "rotasim:", err)
		os.Exit(1)
	}
}

func command() *cobra.Command {
	root := seedsCommand()
	root.SilenceErrors = true
	root.AddCommand(checkCommand(), mutantsCommand())
	return root
}

// protocol is one that can be tried out.
type protocol struct {
	*machine.Machine
	rules *walk.Rules
}

// protocols are all that there are.
func protocols() []protocol {
	return []protocol{
		{leader.Machine(), leader.Rules()},
		{lease.Machine(), lease.Rules()},
		{replica.Machine(), replica.Rules()},
		{sync.Machine(), sync.Rules()},
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
	return protocol{}, fmt.Errorf("unknown protocol %q: there is %s\ntry: rotasim --protocol %s", name,
		strings.Join(names, ", "), names[0])
}
