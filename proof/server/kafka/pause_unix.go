//go:build unix

package kafka

import (
	"syscall"
)

// Pause stops broker i, as a machine does that is suspended: its connections stay, and nobody answers.
func (c *Cluster) Pause(i int) error { return c.Nodes()[i].Signal(syscall.SIGSTOP) }

// Resume lets a broker go on that was paused.
func (c *Cluster) Resume(i int) error { return c.Nodes()[i].Signal(syscall.SIGCONT) }
