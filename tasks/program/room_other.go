//go:build !linux

package program

import (
	"context"
	"os/exec"
)

type group struct{}

func (r *Room) settle(Options) {}

func (r *Room) run(context.Context, Command) (End, error) { return End{}, ErrUnsupported }

func (r *Room) close() error { return nil }

// Start starts a child of this process that does not belong to a task.
func (r *Room) Start(cmd *exec.Cmd) error { return cmd.Start() }

// Wait waits for a child that Start has started.
func (r *Room) Wait(cmd *exec.Cmd) error { return cmd.Wait() }

// Supported reports whether programs can be run on this system.
const Supported = false

// EndAll ends all programs of a place, and returns when none of their processes is left.
func EndAll(context.Context, Place) error { return nil }
