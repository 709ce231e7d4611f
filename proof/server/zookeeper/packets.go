package zookeeper

import (
	"context"
	"fmt"
	"strconv"
	"time"
)

// Packets returns how many packets a server has received from its clients since it started, by its own count: requests, and pings of sessions.
func (c *Cluster) Packets(ctx context.Context, i int) (uint64, error) {
	addr := c.Servers()[i]
	n, err := strconv.ParseUint(ask(ctx, addr, "Received", 20*time.Second), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("count packets: %s says nothing of what it received: %w", addr, err)
	}
	return n, nil
}
