package command

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rota-run/rota/internal/view"
)

func newTask(e env) *cobra.Command {
	return group("task", "list tasks, start a round, try one again that failed",
		newTaskList(e), newTaskShow(e), newTaskTrigger(e), newTaskRetry(e))
}

func newTaskList(e env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "list", Short: "list the tasks and who runs them",
		Example: "  rota task list --store file:./rota-data\n  rota task list --state failing --all",
	}
	state := cmd.Flags().String("state", "", "only those that are "+strings.Join(view.TaskStates(), ", "))
	owner := cmd.Flags().String("owner", "", "only those of this member")
	own := cmd.Flags().Bool("own", false, "also Rota's own tasks: the sources of definitions")
	cmd.Flags().Bool("all", false, "all tasks, without a limit")
	asked(cmd.Flags(), "all")
	return watcher(e, cmd, func(ctx context.Context, o *observer, _ []string) error {
		if err := checkState(*state, view.TaskStates()); err != nil {
			return err
		}
		sight, err := o.sight(ctx, false)
		if err != nil {
			return err
		}
		tasks := sight.Tasks(view.Filter{State: *state, Owner: *owner, Own: *own})
		if o.json {
			return o.printJSON(tasks)
		}
		if err := o.printTasks(tasks); err != nil {
			return err
		}
		if n := sight.Unlisted(); n > 0 {
			fmt.Fprintf(o.stdout, "%s more fail or back off: their members have no room to list them\n", grouped(n))
		}
		return nil
	})
}

// checkState refuses a state that there is not.
func checkState(state string, known []string) error {
	if state == "" || slices.Contains(known, strings.ReplaceAll(state, " ", "-")) {
		return nil
	}
	try := nearestOr(state, known, strings.Join(known, " or --state "))
	return misused("--state "+try, "state %q: there is none", state)
}

func (o *observer) printTasks(tasks []view.Task) error {
	header := []string{"TASK", "STATE", "OWNER", "TOKEN", "SINCE", "TYPE", ""}
	return o.list(header, len(tasks), func(i int) []string {
		t := &tasks[i]
		owner, token := dash(t.Owner), "-"
		if t.Next != "" {
			owner += " → " + t.Next
		}
		if t.Token != 0 {
			token = fmt.Sprint(t.Token)
		}
		return []string{t.Task, t.State, owner, token, ago(t.SinceMS, o.now), t.Type, o.note(t)}
	})
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
