package nats

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	nc "github.com/nats-io/nats.go"
)

// Await returns when each node that runs answers and has a JetStream with a leader.
func (p *Processes) Await(ctx context.Context) error {
	for i, pl := range p.plans {
		if p.nodes[i] == nil {
			continue
		}
		if err := awaitNode(ctx, pl); err != nil {
			return fmt.Errorf("wait for NATS node %s at %s: %w", pl.Name, pl.address(), err)
		}
	}
	return nil
}

func awaitNode(ctx context.Context, p plan) error {
	tick := time.NewTicker(4 * poll)
	defer tick.Stop()
	for {
		last := ask(p)
		if last == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", context.Cause(ctx), last)
		case <-tick.C:
		}
	}
}

// ask asks a node for its account's JetStream, which is answered by the leader of the cluster.
func ask(p plan) error {
	c, err := nc.Connect(p.url(), nc.NoReconnect(), nc.Timeout(time.Second))
	if err != nil {
		return err
	}
	defer c.Close()
	m, err := c.Request("$JS.API.INFO", nil, time.Second)
	if err != nil {
		return err
	}
	var answer struct {
		Error *struct {
			Description string `json:"description"`
		} `json:"error"`
	}
	if err := json.Unmarshal(m.Data, &answer); err != nil {
		return err
	}
	if answer.Error != nil {
		return fmt.Errorf("JetStream: %s", answer.Error.Description)
	}
	return nil
}
