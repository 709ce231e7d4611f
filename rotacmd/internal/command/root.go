package command

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rota-run/rota/internal/nearest"
)

const longHelp = `Rota keeps every task of a cluster running on exactly one live member.
The members are identical processes that agree through a store.

  rota demo                                            three members on this machine, and what can happen to them
  rota run --store file:./rota-data ./tasks            a member; run it again for another one
  rota status --store file:./rota-data                 what is true now`

func newRoot(e env) *cobra.Command {
	root := &cobra.Command{
		Use: e.own.name(), Short: "one of us runs it", Long: e.own.renamed(longHelp), SilenceErrors: true, SilenceUsage: true,
		Args: cobra.ArbitraryArgs, Version: versionText(e),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			return noCommand(cmd, args[0])
		},
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.SuggestionsMinimumDistance = 2
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if cmd == root && !strings.HasPrefix(e.args[0], "-") { // its flags are those of the command that was meant
			return noCommand(cmd, e.args[0])
		}
		return misused(nearestFlag(cmd, err), "%s", flagText(err))
	})
	for _, c := range []func(env) *cobra.Command{
		newRun, newDemo, newStatus, newMembers, newTasks, newWhy, newJournal, newLog, newReplay, newDrain, newUndrain, newUnpark, newPause, newResume, newRunNow,
		newSubmit, newValidate, newCall, newCalls, newJobs, newKill, newPlan, newConfigure, newSimulate, newSource, newStore, newCopy, newConfig, newHealth, newCompletion, newMan, newVersion,
	} {
		root.AddCommand(c(e))
	}
	complete(root)
	return root
}

func noCommand(root *cobra.Command, name string) error {
	try := "rota --help"
	if near := root.SuggestionsFor(name); len(near) > 0 && len(name) > 3 {
		try = "rota " + near[0]
	}
	return misused(try, "there is no command %q", name)
}

// nearestFlag is what to try where a flag is wrong: the flag of a similar name, else the help.
func nearestFlag(cmd *cobra.Command, err error) string {
	try := cmd.CommandPath() + " --help"
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return try
	}
	var known []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
	if name, ok := nearest.Name(unknown.GetSpecifiedName(), known); ok {
		return fmt.Sprintf("did you mean --%s? %s shows all", name, try)
	}
	return try
}

// nearestOr is the known name that was meant, else another one to try.
func nearestOr(name string, known []string, otherwise string) string {
	if near, ok := nearest.Name(name, known); ok {
		return near
	}
	return otherwise
}

// flagText shortens what pflag says: without the Go type and function that refused.
func flagText(err error) string {
	s := err.Error()
	if i := strings.LastIndex(s, "strconv."); i >= 0 {
		if j := strings.LastIndex(s, ": "); j > i {
			s = s[:i] + s[j+2:]
		}
	}
	return strings.TrimSuffix(s, "\n")
}

// noArgs and exactArg replace cobra's checks, so that a wrong count is a usage error with a hint.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return misused(cmd.CommandPath()+" --help", "%s takes no argument, and there is %q", cmd.CommandPath(), args[0])
	}
	return nil
}

func exactArg(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return misused(cmd.CommandPath()+" --help", "%s takes one argument: %s", cmd.CommandPath(), what)
		}
		return nil
	}
}

func many(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%s %ss", grouped(n), noun)
}
