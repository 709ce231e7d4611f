package rota

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/work"
)

// Task is one task to submit. Type is required.
type Task struct {
	Type       string
	Config     any           // anything that encodes to the JSON that the type takes
	Every      time.Duration // period, of periodic types
	Spread     Spread        // default Single
	Partitions []string      // keys, when Spread is Partitioned
	Handover   Handover      // default AtMostOne
	Labels     map[string]string
	Tags       map[string]string // that go on all samples
	Weight     int64             // load of each partition; 0 means 100
	MinSlots   int64             // when Spread is Pool: run on so many slots, or wait; 0: run on what there is
	MaxSlots   int64             // when Spread is Pool: 0 means no limit
	// Repartition, when Spread is Pool: each run is told its share, Grant.Index of Grant.Count. When slots come or go all runs of the task stop,
	// and only then those with the new shares start.
	Repartition bool
	MaxAttempts int64 // failures in a row that park a partition; 0 means never
}

// job makes the command that submits the task.
func (t Task) job(name string) (cluster.SubmitJob, error) {
	d := work.Definition{EveryMS: t.Every.Milliseconds(), Tags: t.Tags}
	if t.Config != nil {
		config, err := json.Marshal(t.Config)
		if err != nil {
			return cluster.SubmitJob{}, fmt.Errorf("encode the config: %w", err)
		}
		d.Config = config
	}
	definition, err := json.Marshal(d)
	if err != nil {
		return cluster.SubmitJob{}, fmt.Errorf("encode the definition: %w", err)
	}
	spec := cluster.TaskSpec{
		Type: t.Type, Spread: t.Spread, Weight: t.Weight, Handover: t.Handover, MaxAttempts: t.MaxAttempts,
		Partitions: t.Partitions, Definition: definition, Min: t.MinSlots, Max: t.MaxSlots, Repartition: t.Repartition,
	}
	for k, v := range t.Labels {
		spec.Selector = append(spec.Selector, cluster.Label{Key: k, Value: v})
	}
	slices.SortFunc(spec.Selector, func(a, b cluster.Label) int { return strings.Compare(a.Key, b.Key) })
	job := cluster.JobSpec{Tasks: []cluster.TaskSpec{spec}}
	job.Coverage = t.MinSlots > 0
	return cluster.SubmitJob{Job: cluster.JobID(name), Spec: job}, nil
}
