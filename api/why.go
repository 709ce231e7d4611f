package api

import (
	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/journal"
)

// Why explains one task.
type Why struct {
	Task
	Handover string            `json:"handover,omitempty"`
	Spread   string            `json:"spread,omitempty"`
	Labels   map[string]string `json:"labels,omitempty"` // that a member must have
	Source   string            `json:"source,omitempty"` // who defined it
	Version  string            `json:"version,omitempty"`
	History  []journal.Record  `json:"history"` // oldest first
}

// WhyOf explains one partition; records are its journal, oldest first.
func WhyOf(v cluster.Value, id cluster.PartitionID, records []journal.Record) (Why, bool) {
	t, ok := TaskOf(v, id)
	if !ok {
		return Why{}, false
	}
	w := Why{Task: t, History: records}
	if w.History == nil {
		w.History = []journal.Record{}
	}
	jobID, name, _ := id.Split()
	job, ok := v.Job(jobID)
	if !ok {
		return w, true
	}
	w.Source, w.Version = job.Spec.Source, job.Spec.Version
	if spec, ok := job.Task(name); ok {
		w.Handover, w.Spread = spec.Handover.String(), spec.Spread.String()
		w.Labels = make(map[string]string, len(spec.Selector))
		for _, l := range spec.Selector {
			w.Labels[l.Key] = l.Value
		}
	}
	return w, true
}
