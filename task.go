package rota

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/source"
	"github.com/rota-run/rota/work"
)

// Task is one task to submit; it can say what a task file can. Type is required.
type Task struct {
	Type       string
	Config     any           // anything that encodes to the JSON that the type takes
	Every      time.Duration // period, of periodic types
	Cron       string        // instead of Every: five fields, minute hour day month weekday
	TimeZone   string        // of Cron, such as "Europe/Berlin"; default UTC
	CatchUp    CatchUp       // of Cron, and of periods of a minute and more: what becomes of rounds that nobody could run; default CatchUpOnce
	Timeout    time.Duration // of one round or run; 0: the type decides
	Spread     Spread        // default Single
	Partitions []string      // keys, when Spread is Partitioned
	Handover   Handover      // default AtMostOne
	Labels     map[string]string
	SpreadOver string // label of members, over whose values the partitions are spread evenly
	Pin        string // the only member that may run it
	Stay       bool   // its partitions do not move to even the load; for a type with Stays they never do
	Tags       map[string]string
	Weight     int64 // load of each partition; 0 means 100
	MinSlots   int64 // when Spread is Pool: run on so many slots, or wait; 0: run on what there is
	MaxSlots   int64 // when Spread is Pool: 0 means no limit
	// Repartition, when Spread is Pool: each run is told its share, Grant.Index of Grant.Count. When slots come or go
	// all runs of the task stop, and only then those with the new shares start.
	Repartition bool
	RetryMin    time.Duration // first pause after a failure; default 1 s
	RetryMax    time.Duration // longest pause; default 5 min
	MaxAttempts int64         // failures in a row that park a partition; 0 means never
	// OnStoreLoss is what a running task does when its member has not reached the store for so long that others may
	// take over; default StoreLossStop.
	OnStoreLoss OnStoreLoss
	// Version of the definition, for Apply: a higher one replaces a lower one.
	Version int64
}

// definition is a Task as a task file has it.
type definition struct {
	Type        string            `json:"type,omitempty"`
	Every       string            `json:"every,omitempty"`
	Cron        string            `json:"cron,omitempty"`
	TimeZone    string            `json:"time_zone,omitempty"`
	CatchUp     CatchUp           `json:"catch_up,omitempty"`
	Timeout     string            `json:"timeout,omitempty"`
	Spread      string            `json:"spread,omitempty"`
	Partitions  []string          `json:"partitions,omitempty"`
	Handover    string            `json:"handover,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	SpreadOver  string            `json:"spread_over,omitempty"`
	Pin         string            `json:"pin,omitempty"`
	Stay        bool              `json:"stay,omitempty"`
	Tags        map[string]string `json:"tags,omitempty"`
	Weight      int64             `json:"weight,omitempty"`
	Min         int64             `json:"min,omitempty"`
	Max         int64             `json:"max,omitempty"`
	Repartition bool              `json:"repartition,omitempty"`
	Retry       retry             `json:"retry,omitzero"`
	OnStoreLoss OnStoreLoss       `json:"on_store_loss,omitempty"`
	Config      any               `json:"config,omitempty"`
}

type retry struct {
	Min      string `json:"min,omitempty"`
	Max      string `json:"max,omitempty"`
	Attempts int64  `json:"attempts,omitempty"`
}

// spec makes the spec of the job that has this task alone, checked as a task file is.
func (t Task) spec(job string, types work.Types) (cluster.JobSpec, error) {
	data, err := json.Marshal(t.definition())
	if err != nil {
		return cluster.JobSpec{}, fmt.Errorf("encode the task: %w", err)
	}
	spec, err := source.ReadTask(cluster.JobID(job), data, types)
	if err != nil {
		return cluster.JobSpec{}, err
	}
	if t.Version < 0 {
		return cluster.JobSpec{}, fmt.Errorf("version %d is negative", t.Version)
	}
	if t.Version > 0 {
		spec.Version = strconv.FormatInt(t.Version, 10)
	}
	spec.Coverage = t.MinSlots > 0
	return spec, nil
}

func (t Task) definition() definition {
	return definition{
		Type: t.Type, Every: orNone(t.Every), Cron: t.Cron, TimeZone: t.TimeZone, CatchUp: t.CatchUp,
		Timeout: orNone(t.Timeout),
		Spread:  t.Spread.String(), Partitions: t.Partitions, Handover: t.Handover.String(), Labels: t.Labels,
		SpreadOver: t.SpreadOver, Pin: t.Pin, Stay: t.Stay,
		Tags: t.Tags, Weight: t.Weight, Min: t.MinSlots, Max: t.MaxSlots, Repartition: t.Repartition,
		Retry:       retry{Min: orNone(t.RetryMin), Max: orNone(t.RetryMax), Attempts: t.MaxAttempts},
		OnStoreLoss: t.OnStoreLoss, Config: t.Config,
	}
}

func orNone(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return d.String()
}

// Partitioner is a task type for inputs that are too many to hold at once: files, objects, pages. One member lists
// them, and at most Window of them at a time are partitions, items, that all members work on. List and Run are
// required.
type Partitioner[C any] struct {
	Window int // most items outstanding; default 64. A few times MaxConcurrent of all members together is enough.
	// MaxConcurrent is how many items one member works on at once; 0 means no limit.
	MaxConcurrent int
	// List returns at most limit inputs behind cursor, nil at first, and the cursor behind them; what it returns must
	// follow from the cursor. It may run again with a cursor that it had before, after a crash. g.Key is the one of
	// Task.Partitions that it lists for.
	List func(ctx context.Context, g *Grant, config C, cursor []byte, limit int) (Page, error)
	// Run works on one item: g.Key and g.Input. It is done when Run returns nil, and never run again.
	Run  func(ctx context.Context, g *Grant, config C) error
	Poll time.Duration // how long to wait after a listing that gave nothing; default 1 s
}

// NewPartitioner makes a task type of a partitioner. Its tasks have spread Partitioned, and each of their Partitions is
// listed by itself:
//
//	rota.Task{Type: "thumbnails", Spread: rota.Partitioned, Partitions: []string{"photos/"}}
func NewPartitioner[C any](name string, p Partitioner[C]) Type {
	var room chan struct{}
	if p.MaxConcurrent > 0 {
		room = make(chan struct{}, p.MaxConcurrent)
	}
	return Type{Name: name, New: func(d work.Definition) (work.Runner, error) {
		if p.List == nil || p.Run == nil {
			return nil, fmt.Errorf("partitioner %s: %w", name, errors.New("List or Run is missing"))
		}
		var config C
		if err := work.DecodeConfig(d, &config); err != nil {
			return nil, err
		}
		lister := work.Partitioner{Window: p.Window, Poll: p.Poll,
			List: func(ctx context.Context, g *Grant, cursor []byte, limit int) (Page, error) {
				return p.List(ctx, g, config, cursor, limit)
			}}
		return work.RunnerFunc(func(ctx context.Context, g *Grant) error {
			if g.ListedBy == "" {
				return lister.Run(ctx, g)
			}
			return inTurn(ctx, room, func() error { return p.Run(ctx, g, config) })
		}), nil
	}}
}

// inTurn runs f when there is room. Items that wait do not keep their partitioner waiting, which would be so with
// Type.MaxConcurrent.
func inTurn(ctx context.Context, room chan struct{}, f func() error) error {
	if room == nil {
		return f()
	}
	select {
	case room <- struct{}{}:
		defer func() { <-room }()
		return f()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
