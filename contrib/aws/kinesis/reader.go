package kinesis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"
	"github.com/aws/smithy-go/logging"

	"github.com/rota-run/rota"
	"github.com/rota-run/rota/contrib/aws/internal/sdk"
	"github.com/rota-run/rota/work"
)

// longest is the longest pause after an answer that the stream is asked too often.
const longest = 10 * time.Second

var errEnded = errors.New("the grant has ended")

// reader reads one shard.
type reader struct {
	stream
	grant    *rota.Grant
	shard    string
	take     func(ctx context.Context, g *rota.Grant, records []types.Record) error
	after    string        // the sequence number of the last record that is done; "" before the first one
	iterator *string       // where to read on; nil where it has to be asked for
	slow     time.Duration // the pause after the last answer that the stream is asked too often
}

// run reads the shard from the saved position to its end, and adds the shards that continue it.
func (r *reader) run(ctx context.Context) error {
	saved, err := r.grant.LoadPosition(ctx)
	if err != nil {
		return err
	}
	r.after = string(saved)
	for {
		pause, ended, err := r.step(ctx)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			return err
		case ended:
			return r.end(ctx, r.grant)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pause):
		}
	}
}

// step takes what one request brings, and tells how long to wait for the next one, or that the shard has ended.
func (r *reader) step(ctx context.Context) (pause time.Duration, ended bool, err error) {
	if r.iterator == nil {
		err = r.seek(ctx)
	}
	var out *kinesis.GetRecordsOutput
	if err == nil {
		out, err = r.client.GetRecords(ctx, &kinesis.GetRecordsInput{ShardIterator: r.iterator, Limit: &r.config.Batch})
	}
	switch c := sdk.Code(err); {
	case c == "ExpiredIteratorException": // Take took longer than five minutes, or the process was suspended
		r.iterator = nil
		return hurry, false, nil
	case tooOften(c):
		r.grant.Value("kinesis_throttled", 1, nil)
		r.slow = min(max(2*r.slow, time.Duration(r.config.Poll)), longest)
		return r.slow, false, nil
	case err != nil:
		return 0, false, r.explain("read "+r.grant.Key, err)
	}
	r.slow, r.iterator = 0, out.NextShardIterator
	if err := r.hand(ctx, out.Records); err != nil {
		return 0, false, err
	}
	pause = time.Duration(r.config.Poll)
	if behind := aws.ToInt64(out.MillisBehindLatest); len(out.Records) > 0 {
		r.grant.Value("kinesis_behind_ms", float64(behind), nil)
		pause = min(pause, hurry)
	}
	return pause, r.iterator == nil, nil
}

// tooOften is the answer to more requests than a stream, or its key, allows.
func tooOften(code string) bool {
	return slices.Contains([]string{
		"ProvisionedThroughputExceededException", "LimitExceededException", "KMSThrottlingException",
	}, code)
}

// seek asks for the place behind the position.
func (r *reader) seek(ctx context.Context) error {
	in := &kinesis.GetShardIteratorInput{
		StreamName: &r.name, ShardId: &r.shard, ShardIteratorType: types.ShardIteratorTypeTrimHorizon,
	}
	switch {
	case r.after != "":
		in.ShardIteratorType, in.StartingSequenceNumber = types.ShardIteratorTypeAfterSequenceNumber, &r.after
	case !r.config.From.IsZero():
		in.ShardIteratorType, in.Timestamp = types.ShardIteratorTypeAtTimestamp, &r.config.From
	}
	out, err := r.client.GetShardIterator(ctx, in)
	if err == nil {
		r.iterator = out.ShardIterator
	}
	return err
}

// hand gives records to Take, and saves the position behind them.
func (r *reader) hand(ctx context.Context, records []types.Record) error {
	if len(records) == 0 {
		return nil
	}
	if !r.grant.Valid() {
		return errEnded
	}
	if err := r.take(ctx, r.grant, records); err != nil {
		return err
	}
	r.after = aws.ToString(records[len(records)-1].SequenceNumber)
	return r.grant.SavePosition(ctx, []byte(r.after))
}

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
