package kafka

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/rota-run/rota"
	"github.com/rota-run/rota/work"
)

// Loop is what one process does with records. Take is required.
type Loop struct {
	// Take works on records of one partition, at least one, in their order, and returns how many of them it is done
	// with, from the first; all, or fewer and the reason. It is never called twice at once for one partition. The
	// records behind those that are done are handed over again. g.Token grows with each owner of the partition: write
	// results so that an old token cannot overwrite a newer one.
	Take func(ctx context.Context, g *rota.Grant, records []*kgo.Record) (done int, err error)
	// Options are those of this process: TLS, SASL, [kgo.FetchIsolationLevel], [kgo.FetchMaxPartitionBytes], a logger.
	// What belongs to consuming itself (brokers, groups, topics, offsets) is set by this package.
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

// Task is a task of a type that [NewType] made, for some topics. Change what it says of hand-over, labels and the like
// before you submit it.
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

// bounds are those of one partition of a topic as it stands.
type bounds struct {
	topic      string // its ID, "" where brokers have none
	start, end int64
}

// begin is where a run begins, and whether that is new: it is saved at once, so that what comes between "behind the
// last record" and the first save is not left out by the next owner.
type begin struct {
	at   position
	news bool
	lost int64  // records that were never handed over
	why  string // what to tell of it; "" for nothing
}

// start finds where to begin: at the saved position, if the topic still has it; else as the rules say. committed is
// what the group has, nil for nothing; grown tells that the partition was added to the topic later.
func start(c Config, saved, committed *position, b bounds, grown bool) (begin, error) {
	switch {
	case saved != nil && saved.Topic != "" && b.topic != "" && saved.Topic != b.topic:
		return begin{at: position{b.start, -1, b.topic}, news: true,
			why: "the topic was recreated: it is consumed from its first record"}, nil
	case saved != nil:
		at := *saved
		at.Topic = b.topic
		return inRange(c, at, b)
	case committed != nil:
		at := *committed
		at.Topic = b.topic
		out, err := inRange(c, at, b)
		out.news = true
		return out, err
	case c.From == FromEnd && !grown:
		return begin{at: position{b.end, -1, b.topic}, news: true}, nil
	}
	return begin{at: position{b.start, -1, b.topic}, news: true}, nil
}

// inRange applies the rule for positions that the topic has not.
func inRange(c Config, at position, b bounds) (begin, error) {
	if at.Offset >= b.start && at.Offset <= b.end {
		return begin{at: at}, nil
	}
	what := fmt.Sprintf("the position %d is not in the topic, which has %d to %d", at.Offset, b.start, b.end)
	out := begin{at: position{min(max(at.Offset, b.start), b.end), -1, b.topic}, news: true}
	switch c.OutOfRange {
	case Fail:
		hint := "its records were deleted before they were consumed; lengthen the topic's retention, then set out_of_range for one run"
		if at.Offset > b.end {
			hint = "the topic has become shorter: look for what happened to its brokers, then set out_of_range for one run"
		}
		return begin{}, fmt.Errorf("%s: %s", what, hint)
	case ToStart:
		out.at.Offset = b.start
	case ToEnd:
		out.at.Offset = b.end
	}
	out.lost = max(0, out.at.Offset-at.Offset)
	out.why = what
	return out, nil
}

// begin asks the brokers and the cluster where this run begins.
func (c *consumption) begin(ctx context.Context) (begin, error) {
	data, err := c.grant.LoadPosition(ctx)
	if err != nil {
		return begin{}, err
	}
	saved, err := decodePosition(data)
	if err != nil {
		return begin{}, err
	}
	timeout := time.Duration(c.config.Timeout)
	b, err := c.reader.bounds(ctx, c.part, timeout)
	if err != nil {
		return begin{}, err
	}
	var committed *position
	if saved == nil && c.config.Group != "" {
		if committed, err = c.reader.committed(ctx, c.config.Group, c.part, timeout); err != nil {
			return begin{}, err
		}
	}
	return start(c.config, saved, committed, b, grown(c.grant.Parents))
}

// grown tells by who has found the partition whether it was added to the topic after the task.
func grown(parents []string) bool { return len(parents) > 0 && strings.Contains(parents[0], "@") }

// most is how many fetches of one partition wait in memory; then it is paused.
const most = 2

// batch is what one fetch brought for a partition.
type batch struct {
	records []*kgo.Record
	end     int64 // the first offset that is not readable yet
	err     error
}

// feed is the queue between the client, which never waits, and one run.
type feed struct {
	ready chan struct{} // holds a token while there is something
	valve func(open bool)

	mu     sync.Mutex
	queue  []batch
	paused bool
}

func newFeed(valve func(open bool)) *feed {
	return &feed{ready: make(chan struct{}, 1), valve: valve}
}

// put is called by one goroutine. The valve is moved under the lock: else an older turn of it could come last.
func (f *feed) put(b batch) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.queue = append(f.queue, b)
	if len(f.queue) >= most && !f.paused {
		f.paused = true
		f.valve(false)
	}
	f.signal()
}

// next takes the oldest batch; ok is false where there is none.
func (f *feed) next() (b batch, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.queue) == 0 {
		return batch{}, false
	}
	b, f.queue = f.queue[0], f.queue[1:]
	if len(f.queue) > 0 {
		f.signal()
	} else if f.paused {
		f.paused = false
		f.valve(true)
	}
	return b, true
}

func (f *feed) signal() {
	select {
	case f.ready <- struct{}{}:
	default:
	}
}
