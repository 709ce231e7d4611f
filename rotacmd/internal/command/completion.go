package command

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rota-run/rota/internal/view"
)

const completionHelp = `Prints a script that lets a shell complete commands, flags and what flags take. It asks this binary, so it is always up to date.

  bash  rota completion bash > /etc/bash_completion.d/rota      (needs the package bash-completion)
  zsh   rota completion zsh > "${fpath[1]}/_rota"
  fish  rota completion fish > ~/.config/fish/completions/rota.fish
  powershell  rota completion powershell | Out-String | Invoke-Expression`

// shells that a script can be printed for.
var shells = []string{"bash", "zsh", "fish", "powershell"}

func newCompletion(e env) *cobra.Command {
	return &cobra.Command{
		Use: "completion SHELL", Short: "print a script that completes commands in a shell", Long: completionHelp,
		Args: exactArg("bash, zsh, fish or powershell"), ValidArgs: shells, Example: "  rota completion bash > rota.bash",
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(e.stdout, true)
			case "zsh":
				return root.GenZshCompletion(e.stdout)
			case "fish":
				return root.GenFishCompletion(e.stdout, true)
			case "powershell":
				return root.GenPowerShellCompletionWithDesc(e.stdout)
			}
			return misused("rota completion "+nearestOr(args[0], shells, "bash"), "there is no script for the shell %q", args[0])
		},
	}
}

// schemeForm finds the schemes in the forms of a store.
var schemeForm = regexp.MustCompile(`[a-z]+:(//)?`)

// complete says what flags take, where that is known.
func complete(root *cobra.Command) {
	values := map[string][]string{
		"store": schemeForm.FindAllString(storeForms, -1), "protocol": protocolList(), "log-level": {"debug", "info", "warn", "error"}, "state": view.TaskStates(),
		"output":  {"text", "json"},
		"publish": append([]string{"stdout", "none"}, sinkNames()...), "job-scheduler": {"round-robin", "greedy", "percentage"},
	}
	for _, cmd := range everyCommand(root) {
		for name, known := range values { // order-free: each by itself
			if cmd.Flags().Lookup(name) == nil {
				continue
			}
			directive := cobra.ShellCompDirectiveNoFileComp
			if name == "store" {
				directive |= cobra.ShellCompDirectiveNoSpace
			}
			if err := cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(known, directive)); err != nil {
				panic(err) // the flag is there
			}
		}
	}
}

// everyCommand lists a command and those below it.
func everyCommand(c *cobra.Command) []*cobra.Command {
	out := []*cobra.Command{c}
	for _, sub := range c.Commands() {
		out = append(out, everyCommand(sub)...)
	}
	return out
}

// usageLine is how a command is called.
func usageLine(c *cobra.Command) string {
	line := strings.TrimSuffix(c.CommandPath(), " "+c.Name())
	if c.HasParent() {
		return fmt.Sprintf("%s %s", line, c.Use)
	}
	return c.Use + " COMMAND"
}
