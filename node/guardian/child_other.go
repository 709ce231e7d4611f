//go:build !linux

package guardian

import (
	"os"
)

// Supported tells whether a process can have a guardian on this system.
const Supported = false

// Child tells whether this process was started as a guardian; it never is here.
func Child(Opener) bool { return false }

type line struct{ pid int }

func (*line) send(message, *os.File) error { return ErrUnsupported }
func (*line) ready() bool                  { return false }
func (*line) give()                        {}
func (*line) close()                       {}

type child struct{ line *line }

func (*child) wait(Children) error { return ErrUnsupported }
func (*child) kill(Children) error { return nil }

func start(Options) (*child, error) { return nil, ErrUnsupported }
