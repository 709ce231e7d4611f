package rota

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rota-run/rota/work"
)

// Partitioner is a task type for inputs that are too many to hold at once: files, objects, pages. One member lists them, and at most Window of
// them at a time are partitions, items, that all members work on. List and Run are required.
type Partitioner[C any] struct {
	Window int // most items outstanding; default 64. A few times MaxConcurrent of all members together is enough.
	// MaxConcurrent is how many items one member works on at once; 0 means no limit.
	MaxConcurrent int
	// List returns at most limit inputs behind cursor, nil at first, and the cursor behind them; what it returns must follow from the cursor.
	// It may run again with a cursor that it had before, after a crash. g.Key is the one of Task.Partitions that it lists for.
	List func(ctx context.Context, g *Grant, config C, cursor []byte, limit int) (Page, error)
	// Run works on one item: g.Key and g.Input. It is done when Run returns nil, and never run again.
	Run  func(ctx context.Context, g *Grant, config C) error
	Poll time.Duration // how long to wait after a listing that gave nothing; default 1 s
}

// NewPartitioner makes a task type of a partitioner. Its tasks have spread Partitioned, and each of their Partitions is listed by itself:
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
		lister := work.Partitioner{Window: p.Window, Poll: p.Poll, List: func(ctx context.Context, g *Grant, cursor []byte, limit int) (Page, error) {
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

// inTurn runs f when there is room. Items that wait do not keep their partitioner waiting, which would be so with Type.MaxConcurrent.
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
