package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	natsclient "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rota-run/rota/proof/server"
	"github.com/rota-run/rota/proof/server/kafka"
	"github.com/rota-run/rota/proof/server/nats"
)

// ground is what a run stands on.
type ground struct {
	store string
	queue string // apart from the store; "" for its own
	// hit kills a server and starts it again; nil where there is none.
	hit  func(ctx context.Context, chance *rand.Rand) error
	stop func()
}

// prepare starts the servers of a run.
func prepare(ctx context.Context, kind, dir string) (ground, error) {
	if at, queue, apart := strings.Cut(kind, "+"); apart {
		return both(ctx, at, queue, dir)
	}
	switch kind {
	case "file":
		return ground{store: filepath.Join(dir, "store"), stop: func() {}}, nil
	case "nats3":
		return threeNodes(ctx, filepath.Join(dir, "server"))
	case "kafka3":
		return threeBrokers(ctx, filepath.Join(dir, "server"))
	}
	at := filepath.Join(dir, "server")
	if err := os.MkdirAll(at, 0o700); err != nil {
		return ground{}, err
	}
	s, err := server.Spawn(ctx, kind, at)
	if err != nil {
		return ground{}, err
	}
	return ground{store: s.URL, stop: s.Stop, hit: func(ctx context.Context, chance *rand.Rand) error {
		if err := s.Kill(); err != nil {
			return err
		}
		if err := pause(ctx, time.Duration(chance.IntN(1500))*time.Millisecond); err != nil {
			return err
		}
		return s.Restart(ctx)
	}}, nil
}

// both is a store and a queue apart from it. One of the two is killed.
func both(ctx context.Context, at, queue, dir string) (ground, error) {
	g, err := prepare(ctx, at, filepath.Join(dir, "store"))
	if err != nil {
		return g, err
	}
	q, err := prepare(ctx, queue, filepath.Join(dir, "queue"))
	if err != nil {
		g.stop()
		return g, err
	}
	return ground{store: g.store, queue: q.store, stop: func() { g.stop(); q.stop() },
		hit: func(ctx context.Context, chance *rand.Rand) error {
			if chance.IntN(2) == 0 {
				return g.hit(ctx, chance)
			}
			return q.hit(ctx, chance)
		}}, nil
}

// threeBrokers is three brokers of Kafka; that which leads most topics of the flow is killed.
func threeBrokers(ctx context.Context, dir string) (ground, error) {
	c, err := kafka.Start(ctx, kafka.Options{Dir: dir, Nodes: 3})
	if err != nil {
		return ground{}, err
	}
	return ground{store: c.URL(""), stop: c.Stop, hit: func(ctx context.Context, chance *rand.Rand) error {
		i, err := mostLed(ctx, c)
		if err != nil {
			return err
		}
		if err := c.Kill(i); err != nil {
			return err
		}
		if err := pause(ctx, time.Duration(1000+chance.IntN(2000))*time.Millisecond); err != nil {
			return err
		}
		return c.Restart(ctx, i)
	}}, nil
}

// mostLed is the broker that leads most topics.
func mostLed(ctx context.Context, c *kafka.Cluster) (int, error) {
	client, err := c.Client()
	if err != nil {
		return 0, err
	}
	defer client.Close()
	resp, err := kmsg.NewPtrMetadataRequest().RequestWith(ctx, client)
	if err != nil {
		return 0, fmt.Errorf("list topics: %w", err)
	}
	led := make([]int, len(c.Servers()))
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			if !t.IsInternal && p.Leader > 0 {
				led[p.Leader-1]++
			}
		}
	}
	return slices.Index(led, slices.Max(led)), nil
}

// threeNodes is three nodes of NATS; that which leads most streams is killed.
func threeNodes(ctx context.Context, dir string) (ground, error) {
	p, err := nats.Spawn(ctx, nats.Options{Dir: dir, Nodes: 3, NoSync: true})
	if err != nil {
		return ground{}, err
	}
	url := "nats://" + strings.ReplaceAll(strings.Join(p.URLs(), ","), "nats://", "")
	return ground{store: url, stop: p.Stop, hit: func(ctx context.Context, chance *rand.Rand) error {
		i, err := leader(ctx, p)
		if err != nil {
			return err
		}
		p.Kill(i)
		if err := pause(ctx, time.Duration(1000+chance.IntN(2000))*time.Millisecond); err != nil {
			return err
		}
		if err := p.Restart(i); err != nil {
			return err
		}
		return p.Await(ctx)
	}}, nil
}

// leader is the node that leads most streams.
func leader(ctx context.Context, p *nats.Processes) (int, error) {
	c, err := natsclient.Connect(p.URL())
	if err != nil {
		return 0, err
	}
	defer c.Close()
	js, err := jetstream.New(c)
	if err != nil {
		return 0, err
	}
	led := map[string]int{}
	list := js.ListStreams(ctx)
	for info := range list.Info() {
		if info.Cluster != nil {
			led[info.Cluster.Leader]++
		}
	}
	if err := list.Err(); err != nil {
		return 0, fmt.Errorf("list streams: %w", err)
	}
	most, names := 0, p.Names()
	for i, n := range names {
		if led[n] > led[names[most]] {
			most = i
		}
	}
	return most, nil
}
