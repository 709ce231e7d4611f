package command

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rota-run/rota/internal/safetext"
	"github.com/rota-run/rota/internal/view"
)

const longHelp = `Rota keeps every task of a cluster running on exactly one live member.
The members are identical processes that agree through a store.`

const rootExample = `  rota demo                                    # three members on this machine, and what can happen to them
  rota run --store file:./rota-data ./tasks    # a member; run it again for another one
  rota status --store file:./rota-data         # what is true now`

func newRoot(e env) *cobra.Command {
	root := &cobra.Command{
		Use: e.own.name(), Short: "one of us runs it", Long: longHelp, Example: rootExample, SilenceErrors: true,
		SilenceUsage: true, Args: cobra.ArbitraryArgs, Version: versionText(e), RunE: helpOnly,
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		depth := len(strings.Fields(cmd.CommandPath())) - 1
		if cmd.HasSubCommands() && len(e.args) > depth && !strings.HasPrefix(e.args[depth], "-") {
			return noCommand(cmd, e.args[depth]) // the flags are those of the command that was meant
		}
		return misused(nearestFlag(cmd, err), "%s", flagText(err))
	})
	addGroups(root, e)
	for _, c := range everyCommand(root) {
		c.Example = e.own.renamed(c.Example)
	}
	complete(root)
	return root
}

// commandGroup is what a person looks for in the help.
type commandGroup struct {
	title    string
	commands []func(env) *cobra.Command
}

func groups() []commandGroup {
	return []commandGroup{
		{"Run and look:", []func(env) *cobra.Command{newRun, newDemo, newStatus, newWhy, newEvents}},
		{"What a cluster has:", []func(env) *cobra.Command{
			newMember, newTask, newJob, newFunction, newSource, newLog, newCluster, newStore,
		}},
		{"Before and beside it:", []func(env) *cobra.Command{newValidate, newSimulate, newConfig, newHealth}},
		{"This program:", []func(env) *cobra.Command{newCompletion, newMan, newVersion}},
	}
}

// addGroups adds all commands.
func addGroups(root *cobra.Command, e env) {
	for _, g := range groups() {
		root.AddGroup(&cobra.Group{ID: g.title, Title: g.title})
		for _, c := range g.commands {
			cmd := c(e)
			cmd.GroupID = g.title
			root.AddCommand(cmd)
		}
	}
	// rota help RUN works, and is no entry: each command has --help.
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), `(or .IsAvailableCommand (eq .Name "help"))`,
		".IsAvailableCommand"))
	root.InitDefaultHelpCmd()
	if c, _, err := root.Find([]string{"help"}); err == nil {
		c.Hidden, c.GroupID = true, groups()[0].title
	}
}

// group makes a command that only has others below it.
func group(use, short string, below ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Args: cobra.ArbitraryArgs, Example: below[0].Example, RunE: helpOnly}
	cmd.AddCommand(below...)
	return cmd
}

// helpOnly is what a command does that only has others below it.
func helpOnly(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return cmd.Help()
	}
	return noCommand(cmd, args[0])
}

// renames are the commands that have another name now, for who types the old one.
var renames = map[string]string{ // read-only: a table
	"members": "member list", "drain": "member drain", "undrain": "member undrain", "plan": "member plan",
	"tasks": "task list", "run-now": "task trigger", "unpark": "task retry",
	"jobs": "job list", "submit": "job submit", "kill": "job stop", "pause": "job pause", "resume": "job resume",
	"call": "function call", "calls": "function list", "journal": "events", "replay": "log show",
	"configure": "cluster set", "copy": "store copy",
}

// noCommand says that there is no command of this name below another one.
func noCommand(parent *cobra.Command, name string) error {
	parent.SuggestionsMinimumDistance = 2
	try := parent.CommandPath() + " --help"
	if now := renames[name]; now != "" && !parent.HasParent() {
		try = parent.CommandPath() + " " + now
	} else if near := parent.SuggestionsFor(name); len(near) > 0 && len(name) > 3 {
		try = parent.CommandPath() + " " + near[0]
	}
	return misused(try, "unknown command %q",
		strings.TrimSpace(strings.TrimPrefix(parent.CommandPath(), parent.Root().Name())+" "+name))
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
	if name, ok := safetext.Nearest(unknown.GetSpecifiedName(), known); ok {
		return fmt.Sprintf("did you mean --%s? %s shows all", name, try)
	}
	return try
}

// nearestOr is the known name that was meant, else another one to try.
func nearestOr(name string, known []string, otherwise string) string {
	if near, ok := safetext.Nearest(name, known); ok {
		return near
	}
	return otherwise
}

// flagText shortens what pflag says: without the Go type and function that refused.
func flagText(err error) string {
	s := err.Error()
	if i := strings.LastIndex(s, "strconv."); i == 0 { // nothing before it names the value
		_, s, _ = strings.Cut(s, "parsing ")
	} else if i > 0 {
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

func exactArg(what string) cobra.PositionalArgs { return exactArgs(1, what) }

func exactArgs(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == n {
			return nil
		}
		count := "one argument"
		if n == 2 {
			count = "two arguments"
		}
		return misused(cmd.CommandPath()+" --help", "%s takes %s: %s", cmd.CommandPath(), count, what)
	}
}

func many(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%s %ss", grouped(n), noun)
}

// Set when a release is linked: see deploy/build.
var (
	version = "0.1.0"
	linked  = "" // the commit, where the build does not know it by itself
)

// revision is the commit that the binary was built from, "" where that is not known. A plus at its end says that files
// were changed since.
func revision() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return revisionOf(linked, nil)
	}
	return revisionOf(linked, info.Settings)
}

func revisionOf(linked string, settings []debug.BuildSetting) string {
	commit, changed := linked, false
	for _, s := range settings {
		switch {
		case s.Key == "vcs.revision" && linked == "":
			commit = s.Value
		case s.Key == "vcs.modified" && linked == "":
			changed = s.Value == "true"
		}
	}
	commit = commit[:min(12, len(commit))]
	if commit != "" && changed {
		commit += "+"
	}
	return commit
}

func newVersion(e env) *cobra.Command {
	cmd := &cobra.Command{Use: "version", Short: "print the version and the commit", Args: noArgs,
		Example: "  rota version"}
	asJSON := formatFlag(cmd.Flags())
	cmd.RunE = func(*cobra.Command, []string) error {
		if *asJSON {
			return e.printJSON(map[string]string{"version": version, "revision": revision(), "go": runtime.Version(),
				"platform": platform})
		}
		_, err := fmt.Fprintln(e.stdout, versionText(e))
		return err
	}
	return cmd
}

const platform = runtime.GOOS + "/" + runtime.GOARCH

func versionText(e env) string {
	return fmt.Sprintf("%s %s (commit %s, %s, %s)", e.own.name(), version, cmp.Or(revision(), "unknown"),
		runtime.Version(), platform)
}

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
		Args: exactArg("bash, zsh, fish or powershell"), ValidArgs: shells,
		Example: "  rota completion bash > rota.bash",
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
			return misused("rota completion "+nearestOr(args[0], shells, "bash"), "there is no script for the shell %q",
				args[0])
		},
	}
}

// schemeForm finds the schemes in the forms of a store.
var schemeForm = regexp.MustCompile(`[a-z]+:(//)?`)

// complete says what flags take, where that is known.
func complete(root *cobra.Command) {
	values := map[string][]string{
		"store": schemeForm.FindAllString(storeForms, -1), "protocol": protocolList(),
		"log-level": {"debug", "info", "warn", "error"}, "state": view.TaskStates(),
		"output":        {"text", "json"},
		"publish":       append([]string{"stdout", "none"}, sinkNames()...),
		"job-scheduler": {"round-robin", "greedy", "percentage"},
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
