package command

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/view"
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
		case *state != "" && !slices.Contains(view.TaskStates(), strings.ReplaceAll(*state, " ", "-")):
			return misused("--state "+nearestOr(*state, view.TaskStates(), strings.Join(view.TaskStates(), " or --state ")), "state %q: there is none", *state)
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
		tasks := sight.Tasks(view.Filter{State: *state, Owner: *owner, Own: *own})
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
		if n := sight.Unlisted(); n > 0 {
			fmt.Fprintf(o.stdout, "%s more fail or back off: their members have no room to list them\n", grouped(n))
		}
		return nil
	})
}

func (o *observer) printTasks(tasks []view.Task) error {
	rows := [][]string{{"TASK", "STATE", "OWNER", "TOKEN", "SINCE", "TYPE", ""}}
	for _, t := range tasks {
		owner, token := dash(t.Owner), "-"
		if t.Next != "" {
			owner += " → " + t.Next
		}
		if t.Token != 0 {
			token = fmt.Sprint(t.Token)
		}
		rows = append(rows, []string{t.Task, t.State, owner, token, ago(t.SinceMS, o.now), t.Type, o.note(&t)})
	}
	return table(o.stdout, rows)
}

// note is what the state alone does not say of a task that fails.
func (o *observer) note(t *view.Task) string {
	switch t.State {
	case view.Failing, view.BackingOff, "parked":
		return strings.TrimSuffix(o.failedSince(t)+t.FailureText(), ", ")
	}
	return ""
}

// failedSince says since when a task fails, and how old that word of its owner is, unless it is new.
func (o *observer) failedSince(t *view.Task) (text string) {
	if t.FailingMS > 0 {
		text = "since " + clock(t.FailingMS, o.now) + ", "
	}
	if old := o.now.Sub(time.UnixMilli(t.AsOfMS)); t.AsOfMS > 0 && old >= wordIsOld {
		text += "as of " + short(old) + " ago: "
	}
	return text
}

// wordIsOld is from when on it is said how old the word of a member is.
const wordIsOld = 3 * time.Second
