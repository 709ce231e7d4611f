//go:build unix

package etcd

import (
	"fmt"
	"syscall"
)

// Pause stops a member without ending it, as a machine does that is suspended: its connections stay, and nothing answers.
func (c *Cluster) Pause(i int) error { return c.signal(i, syscall.SIGSTOP) }

// Resume lets a paused member go on.
func (c *Cluster) Resume(i int) error { return c.signal(i, syscall.SIGCONT) }

func (c *Cluster) signal(i int, s syscall.Signal) error {
	m := c.members[i]
	if m == nil {
		return fmt.Errorf("signal etcd member %s: it was killed", c.nodes[i].Name)
	}
	if err := m.cmd.Process.Signal(s); err != nil {
		return fmt.Errorf("signal etcd member %s: %w", c.nodes[i].Name, err)
	}
	return nil
}
