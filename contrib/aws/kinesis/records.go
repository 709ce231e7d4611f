package kinesis

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"
	"github.com/aws/smithy-go/logging"

	"github.com/rota-run/rota"
	"github.com/rota-run/rota/contrib/aws/internal/sdk"
	"github.com/rota-run/rota/work"
)

// Records is what one process does with the records of shards. Take is required.
type Records struct {
	// Take works on some records of one shard, in their order. They are done when it returns nil:
	// then their position is saved. They may come again, under a larger g.Token, where a run was
	// cut: write results so that an old token cannot overwrite a newer one, or ask g.Valid right
	// before.
	Take func(ctx context.Context, g *rota.Grant, records []types.Record) error
	// Load and Options are those of the SDK in this process: a profile, credentials, retries, an HTTP client.
	Load    []func(*config.LoadOptions) error
	Options []func(*kinesis.Options)
}

// NewType makes a task type of a function for records. Submit it with [Task].
func NewType(name string, r Records) rota.Type {
	shared := &clients{records: r, open: map[access]*kinesis.Client{}}
	return rota.Type{Name: name, Doc: "takes the records of streams",
		New: func(d work.Definition) (work.Runner, error) {
			if r.Take == nil {
				return nil, fmt.Errorf("records %s: %w", name, errors.New("Take is missing"))
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
				client, err := shared.get(ctx, c)
				if err != nil {
					return err
				}
				name, shard, of := strings.Cut(g.Key, "/")
				s := stream{client: client, config: c, name: name}
				if !of {
					return s.begin(ctx, g)
				}
				return (&reader{stream: s, grant: g, shard: shard, take: r.Take}).run(ctx)
			}), nil
		}}
}

// Task is a task of a type that [NewType] made, for streams by their names. Its partitions are the
// streams, each of which adds its shards and has then ended, and "stream/shard" for each shard.
func Task(typ string, c Config, streams ...string) rota.Task {
	return rota.Task{Type: typ, Config: c, Spread: rota.Partitioned, Partitions: streams}
}

// access is what makes a client another one.
type access struct{ region, endpoint string }

// clients are those of one task type in this process, made when they are needed first.
type clients struct {
	records Records

	mu   sync.Mutex
	open map[access]*kinesis.Client
}

func (s *clients) get(ctx context.Context, c Config) (*kinesis.Client, error) {
	a := access{c.Region, c.Endpoint}
	s.mu.Lock()
	defer s.mu.Unlock()
	if client, ok := s.open[a]; ok {
		return client, nil
	}
	conf, err := sdk.Load(ctx, a.region, a.endpoint, stall, s.records.Load...)
	if err != nil {
		return nil, err
	}
	client := kinesis.NewFromConfig(conf, append([]func(*kinesis.Options){func(o *kinesis.Options) {
		if a.endpoint != "" {
			o.BaseEndpoint = aws.String(strings.TrimSuffix(a.endpoint, "/"))
		}
		o.Logger = logging.Nop{} // else it writes to the process's stderr
	}}, s.records.Options...)...)
	s.open[a] = client
	return client, nil
}
