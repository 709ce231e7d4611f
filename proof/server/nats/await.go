package nats

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	nc "github.com/nats-io/nats.go"
)

// Await returns when each node that runs answers, and all of them take streams.
func (p *Processes) Await(ctx context.Context) error {
	var running []plan
	for i := range p.plans {
		if p.nodes[i] != nil {
			running = append(running, p.plans[i])
		}
	}
	for _, pl := range running {
		if err := awaitNode(ctx, pl, len(running)); err != nil {
			return fmt.Errorf("wait for NATS node %s at %s: %w", pl.Name, pl.address(), err)
		}
	}
	return nil
}

// awaitNode returns when a stream with replicas can be made through a node. Only then the leader of the cluster knows of all nodes.
func awaitNode(ctx context.Context, p plan, replicas int) error {
	tick := time.NewTicker(4 * poll)
	defer tick.Stop()
	for {
		last := try(p, replicas)
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

// tryName is a stream that is made and removed.
const tryName = "ROTA_READY"

func try(p plan, replicas int) error {
	c, err := nc.Connect(p.url(), nc.NoReconnect(), nc.Timeout(time.Second))
	if err != nil {
		return err
	}
	defer c.Close()
	if err := ask(c, "INFO", ""); err != nil || replicas == 1 {
		return err
	}
	stream := fmt.Sprintf(`{"name":%q,"subjects":[%q],"storage":"memory","num_replicas":%d}`, tryName, "rota.ready", replicas)
	return errors.Join(ask(c, "STREAM.CREATE."+tryName, stream), ask(c, "STREAM.DELETE."+tryName, ""))
}

func ask(c *nc.Conn, call, request string) error {
	m, err := c.Request("$JS.API."+call, []byte(request), 5*time.Second)
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
