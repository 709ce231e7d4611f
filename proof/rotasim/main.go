// Rotasim runs simulated clusters: many seeds under faults, one seed as a readable trace, or every order of a few events.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// errBroken says that a promise was broken: it was printed, and the exit code says so too.
var errBroken = errors.New("a promise was broken")

func main() {
	debug.SetGCPercent(400) // worlds are small and make much garbage
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
