package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/operate"
	"github.com/rota-run/rota/internal/safetext"
	"github.com/rota-run/rota/internal/view"
	"github.com/rota-run/rota/internal/wait"
	"github.com/rota-run/rota/internal/work/supervisor"
	"github.com/rota-run/rota/store"
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

// Definition is what rota task show --definition prints.
type Definition struct {
	Task       string          `json:"task"`
	Job        string          `json:"job"`
	Type       string          `json:"type"`
	Spread     string          `json:"spread"`
	Handover   string          `json:"handover"`
	Source     string          `json:"source,omitempty"`  // of task files that defines it; "" for a submitted job
	Version    string          `json:"version,omitempty"` // of the job, as its definition names it
	Definition json.RawMessage `json:"definition"`        // what the task type is given; secrets are references
}

func newTaskShow(e env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "show TASK", Short: "show a task and who runs it", Args: exactArg("a task; rota task list shows them"),
		Example: "  rota task show weather\n  rota task show weather --definition",
	}
	definition := cmd.Flags().Bool("definition", false, "what the cluster knows of the task's definition, as JSON")
	asked(cmd.Flags(), "definition")
	return watcher(e, cmd, func(ctx context.Context, o *observer, args []string) error {
		if *definition {
			return o.printDefinition(cluster.PartitionID(args[0]))
		}
		sight, err := o.sight(ctx, false)
		if err != nil {
			return err
		}
		tasks := sight.Tasks(view.Filter{Own: true})
		i := slices.IndexFunc(tasks, func(t view.Task) bool { return t.Task == args[0] })
		switch {
		case i < 0:
			return failed(o.hint("rota why "+safetext.Word(args[0])), "there is no task %q", args[0])
		case o.json:
			return o.printJSON(tasks[i])
		}
		return o.printTasks(tasks[i : i+1])
	})
}

func (o *observer) printDefinition(id cluster.PartitionID) error {
	job, name, _ := id.Split()
	j, _ := o.value.Job(job)
	spec, ok := j.Task(name)
	if !ok {
		return failed(o.hint("rota why "+safetext.Word(string(id))), "there is no task %q", id)
	}
	d := Definition{
		Task: string(id), Job: string(job), Type: spec.Type, Spread: spec.Spread.String(),
		Handover: spec.Handover.String(),
		Source:   j.Spec.Source, Version: j.Spec.Version, Definition: json.RawMessage(spec.Definition),
	}
	if !json.Valid(d.Definition) { // a program of its own may submit anything
		text, err := json.Marshal(string(spec.Definition))
		if err != nil {
			return err
		}
		d.Definition = text
	}
	return o.printJSON(d)
}

const triggerHelp = `Start a round of a periodic task (every, cron) at once, or when its present round is over.
The planned rounds stay as they are. If the owner stops before the round is over, the next owner runs it: at least once.
A job, or a task of spread every, is all of its partitions.`

// askedWithin is between two looks whether a round is over.
const askedWithin = 250 * time.Millisecond

func newTaskTrigger(e env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "trigger TASK", Short: "have a task begin a round now", Long: triggerHelp,
		Args:    exactArg("the name of a task; rota task list shows them"),
		Example: "  rota task trigger nightly --wait",
	}
	wait := cmd.Flags().Bool("wait", false, "until the round is over")
	asked(cmd.Flags(), "wait")
	return changer(e, cmd, func(ctx context.Context, o *observer, args []string) error {
		types, err := e.typesOf(allowed{}, false)
		if err != nil {
			return err
		}
		op, err := o.operatorOn(ctx, o.store, nil, "", types)
		if err != nil {
			return fmt.Errorf("store %s: %w", o.name, err)
		}
		asks, a, err := op.RunNow(ctx, args[0])
		if err != nil {
			return o.refusal(err, o.hint("rota why "+safetext.Word(args[0])))
		}
		o.journaled(a)
		if *wait {
			err = awaitRounds(cmd.Context(), o.store, asks)
		}
		return errors.Join(err, o.sayAsked(args[0], len(asks), *wait && err == nil))
	})
}

func newTaskRetry(e env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "retry TASK", Short: "try a parked task again, which failed too often",
		Example: "  rota task retry weather",
	}
	return proposer(e, cmd, asking[cluster.PartitionID]{
		list: "task list --state parked", do: (*operate.Operator).Unpark,
		done: "%s is tried again · watch it: rota events --store %s",
	})
}

// awaitRounds returns when all rounds are over.
func awaitRounds(ctx context.Context, docs store.Docs, asks []supervisor.Ask) error {
	for _, ask := range asks {
		for {
			over, err := ask.Answered(ctx, docs)
			if err != nil {
				return fmt.Errorf("look whether the round is over: %w", err)
			}
			if over {
				break
			}
			if !wait.For(ctx, askedWithin) {
				return context.Cause(ctx)
			}
		}
	}
	return nil
}

func (o *observer) sayAsked(name string, n int, over bool) error {
	if o.json {
		return o.printJSON(Proposed{"run-now " + name, true})
	}
	what := "a round"
	if n > 1 {
		what = fmt.Sprintf("a round of %d partitions", n)
	}
	did := "runs " + what + " now"
	if over {
		did = "has run " + what
	}
	o.say("%s %s · failures: rota events --task %s --store %s", name, did, safetext.Word(name), storeWord(o.url))
	return nil
}
