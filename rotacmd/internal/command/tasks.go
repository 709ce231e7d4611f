package command

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rota-run/rota/api"
	"github.com/rota-run/rota/cluster"
)

// rowsShown is how many rows are printed without --all.
const rowsShown = 50

func newTasks(e env) *cobra.Command {
	cmd := &cobra.Command{Use: "tasks [TASK]", Short: "list the tasks and who runs them, or show one", Args: cobra.MaximumNArgs(1)}
	state := cmd.Flags().String("state", "", "only those that are running, failing, backing-off, owner-silent, moving, waiting, paused, parked, blocked, held or finished")
	owner := cmd.Flags().String("owner", "", "only those of this member")
	own := cmd.Flags().Bool("own", false, "also Rota's own tasks: the sources of definitions")
	all := cmd.Flags().Bool("all", false, "all of them, however many")
	definition := cmd.Flags().Bool("definition", false, "what the cluster knows of the task's definition, as JSON")
	asked(cmd.Flags(), "definition")
	return watcher(e, cmd, func(ctx context.Context, o *observer, args []string) error {
		switch {
		case len(args) == 1 && *definition:
			return o.printDefinition(cluster.PartitionID(args[0]))
		case *state != "" && !slices.Contains(api.TaskStates(), strings.ReplaceAll(*state, " ", "-")):
			return misused("--state "+nearestOr(*state, api.TaskStates(), strings.Join(api.TaskStates(), " or --state ")), "state %q: there is none", *state)
		case *definition:
			return misused("rota tasks TASK --definition", "--definition takes a task")
		}
		sight, err := o.sight(ctx, false)
		if err != nil {
			return err
		}
		if len(args) == 1 {
			return o.showTask(sight, args[0])
		}
		tasks := api.Filter(o.tasks(sight, *own), *state, *owner)
		if o.json {
			return o.printJSON(tasks)
		}
		shown := len(tasks)
		if !*all {
			shown = min(shown, rowsShown)
		}
		if err := o.printTasks(tasks[:shown]); err != nil {
			return err
		}
		if more := len(tasks) - shown; more > 0 {
			fmt.Fprintf(o.stdout, "and %s more: %s\n", grouped(more), o.hint("rota tasks --all"))
		}
		return nil
	})
}

func (o *observer) printTasks(tasks []api.Task) error {
	rows := [][]string{{"TASK", "STATE", "OWNER", "TOKEN", "SINCE", "TYPE", ""}}
	for _, t := range tasks {
		owner, token := dash(t.Owner), "-"
		if t.Next != "" {
			owner += " → " + t.Next
		}
		if t.Token != 0 {
			token = fmt.Sprint(t.Token)
		}
		rows = append(rows, []string{t.Task, t.State, owner, token, ago(t.SinceMS, o.now), t.Type, note(&t)})
	}
	return table(o.stdout, rows)
}

// note is what the state alone does not say of a task that fails.
func note(t *api.Task) string {
	switch t.State {
	case api.Failing, api.BackingOff, "parked":
		return t.FailureText()
	}
	return ""
}
