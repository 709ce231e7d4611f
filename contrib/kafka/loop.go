package kafka

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/rota-run/rota"
	"github.com/rota-run/rota/work"
)

// Loop is what one process does with records. Take is required.
type Loop struct {
	// Take works on records of one partition, at least one, in their order, and returns how many of them it is done with, from the first; all,
	// or fewer and the reason. It is never called twice at once for one partition. The records behind those that are done are handed over
	// again. g.Token grows with each owner of the partition: write results so that an old token cannot overwrite a newer one.
	Take func(ctx context.Context, g *rota.Grant, records []*kgo.Record) (done int, err error)
	// Options are those of this process: TLS, SASL, [kgo.FetchIsolationLevel], [kgo.FetchMaxPartitionBytes], a logger. What belongs to
	// consuming itself (brokers, groups, topics, offsets) is set by this package.
	Options []kgo.Opt
}

// NewType makes a task type of a loop. Submit it with [Task].
func NewType(name string, l Loop) rota.Type {
	shared := &readers{options: l.Options, open: map[string]*reader{}}
	return rota.Type{Name: name, Doc: "consumes topics of Kafka", New: func(d work.Definition) (work.Runner, error) {
		if l.Take == nil {
			return nil, fmt.Errorf("loop %s: %w", name, errors.New("Take is missing"))
		}
		var c Config
		if err := work.DecodeConfig(d, &c); err != nil {
			return nil, err
		}
		c = c.withDefaults()
		if err := c.validate(); err != nil {
			return nil, err
		}
		return work.RunnerFunc(func(ctx context.Context, g *rota.Grant) error {
			return l.run(ctx, g, c, shared)
		}), nil
	}}
}

// Task is a task of a type that [NewType] made, for some topics. Change what it says of hand-over, labels and the like before you submit it.
func Task(typ string, c Config, topics ...string) rota.Task {
	return rota.Task{Type: typ, Config: c, Spread: rota.Partitioned, Partitions: topics}
}

func (l Loop) run(ctx context.Context, g *rota.Grant, c Config, shared *readers) error {
	p, err := parsePart(g.Key)
	if err != nil {
		return err
	}
	r, err := shared.take(c.Brokers, g.Log)
	if err != nil {
		return fmt.Errorf("consume %s: %w", g.Key, err)
	}
	defer shared.giveBack(r)
	if p.watches {
		err = watching{reader: r, grant: g, config: c, part: p}.run(ctx)
	} else {
		run := &consumption{loop: l, reader: r, grant: g, config: c, part: p}
		err = run.run(ctx)
	}
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("consume %s: %w", g.Key, err)
	}
	return err
}
