package rota

import (
	"context"

	"github.com/rota-run/rota/work"
)

// NewType makes a task type of a function and its config, which is decoded from the task's definition; fields that C does not have are
// refused. The function works until it is finished (nil), fails (an error: it is tried again after a pause) or ctx ends.
func NewType[C any](name string, run func(ctx context.Context, g *Grant, config C) error) Type {
	return Type{Name: name, New: func(d work.Definition) (work.Runner, error) {
		var c C
		if err := work.DecodeConfig(d, &c); err != nil {
			return nil, err
		}
		return work.RunnerFunc(func(ctx context.Context, g *Grant) error { return run(ctx, g, c) }), nil
	}}
}

// NewCheck is NewType for a function that is called once per Task.Every.
func NewCheck[C any](name string, round func(ctx context.Context, g *Grant, config C) error) Type {
	t := NewType(name, round)
	t.Periodic = true
	return t
}
