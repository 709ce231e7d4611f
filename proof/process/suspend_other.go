//go:build !unix

package process

import (
	"context"
	"errors"
	"fmt"
)

// CanSuspend reports whether processes can be suspended on this system.
const CanSuspend = false

// Stop fails: nothing can be suspended here.
func Stop(context.Context, int) error { return unsupported() }

// StopOutside fails: nothing can be suspended here.
func StopOutside(context.Context, int, ...string) error { return unsupported() }

// Continue fails: nothing can be suspended here.
func Continue(int) error { return unsupported() }

func unsupported() error { return fmt.Errorf("suspend a process: %w", errors.ErrUnsupported) }
