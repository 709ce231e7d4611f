package command

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/spf13/cobra"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/plain"
	"github.com/rota-run/rota/internal/view"
)

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
			return failed(o.hint("rota why "+plain.Word(args[0])), "there is no task %q", args[0])
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
		return failed(o.hint("rota why "+plain.Word(string(id))), "there is no task %q", id)
	}
	d := Definition{
		Task: string(id), Job: string(job), Type: spec.Type, Spread: spec.Spread.String(), Handover: spec.Handover.String(),
		Source: j.Spec.Source, Version: j.Spec.Version, Definition: json.RawMessage(spec.Definition),
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
