package cluster

import (
	"fmt"
	"strings"
)

// String is the command on one line.
func (c Epoch) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "epoch %d.%d by %s:", c.Start, c.Generation, c.Leader)
	for _, m := range c.Members {
		fmt.Fprintf(&b, " %s", m.Join.Member)
	}
	return b.String()
}

// String is the command on one line.
func (c Share) String() string {
	to := "nobody"
	if c.To != "" {
		to = string(c.To)
	}
	return fmt.Sprintf("share %s token=%d to %s", c.Partition, c.Token, to)
}

// String is the command on one line.
func (c Own) String() string {
	what := "picks up"
	if c.Full {
		what = "owns"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "own %s@%d %s", c.Member, c.Incarnation, what)
	for _, o := range c.Partitions {
		fmt.Fprintf(&b, " %s/%d", o.Partition, o.Token)
	}
	return fmt.Sprintf("%s, %d in all", b.String(), c.Count)
}
