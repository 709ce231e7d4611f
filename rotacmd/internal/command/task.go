package command

import (
	"encoding/json"
	"slices"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/plain"
	"github.com/rota-run/rota/view"
)

// Definition is what rota tasks TASK --definition prints.
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

func (o *observer) showTask(sight view.Sight, name string) error {
	tasks := sight.Tasks(view.Filter{Own: true})
	i := slices.IndexFunc(tasks, func(t view.Task) bool { return t.Task == name })
	switch {
	case i < 0:
		return failed(o.hint("rota why "+plain.Word(name)), "there is no task %q", name)
	case o.json:
		return o.printJSON(tasks[i])
	}
	return o.printTasks(tasks[i : i+1])
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
