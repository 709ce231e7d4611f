package kafka

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rota-run/rota/store"
	inner "github.com/rota-run/rota/store/internal/driver"
)

// line is what the parts of one handle share.
type line struct {
	client  *kgo.Client
	newTail func() (*kgo.Client, error) // for requests that wait at the broker: a connection serves one after the other
	timeout time.Duration
	log     *slog.Logger
	life    *inner.Life
	foreign atomic.Int64
}

// call begins a call, which ends with the handle and with the store's timeout.
func (l *line) call(ctx context.Context) (calling context.Context, leave func(), err error) {
	ctx, out, err := l.life.Enter(ctx)
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, l.timeout, errTimeout)
	return ctx, func() { cancel(); out() }, nil
}

// topic is the one partition of a topic.
type topic struct {
	line      *line
	name      string
	id        [16]byte
	replicas  int
	leader    atomic.Int32
	producers chan *producer // that wait for the next batch
}

// newTopic is a topic as the brokers describe it.
func newTopic(l *line, m kmsg.MetadataResponseTopic) *topic {
	t := &topic{line: l, name: *m.Topic, id: m.TopicID, replicas: len(m.Partitions[0].Replicas)}
	t.producers = make(chan *producer, producersKept)
	t.leader.Store(m.Partitions[0].Leader)
	return t
}

// noLeader says that the leader must be asked for.
const noLeader = -1

// leads returns the broker that leads the partition.
func (t *topic) leads(ctx context.Context, c *kgo.Client) (*kgo.Broker, error) {
	if id := t.leader.Load(); id != noLeader {
		return c.Broker(int(id)), nil
	}
	info, err := describe(ctx, c, t.name)
	if err != nil {
		return nil, err
	}
	m := info[t.name]
	if err := topicError(t.name, m.ErrorCode); err != nil {
		return nil, err
	}
	if m.TopicID != t.id {
		return nil, fmt.Errorf("topic %s was deleted and made again: %w", t.name, ErrDamaged)
	}
	if len(m.Partitions) != 1 {
		return nil, fmt.Errorf("topic %s has %d partitions, it had 1: %w", t.name, len(m.Partitions), ErrDamaged)
	}
	if m.Partitions[0].Leader < 0 {
		return nil, fmt.Errorf("%w: the partition has none", errMoved)
	}
	t.leader.Store(m.Partitions[0].Leader)
	return c.Broker(int(m.Partitions[0].Leader)), nil
}

// describe asks for topics.
func describe(ctx context.Context, c *kgo.Client, names ...string) (map[string]kmsg.MetadataResponseTopic, error) {
	out, _, err := describeAll(ctx, c, names...)
	return out, err
}

func describeAll(ctx context.Context, c *kgo.Client,
	names ...string) (map[string]kmsg.MetadataResponseTopic, int, error) {
	req := kmsg.NewPtrMetadataRequest()
	for _, name := range names {
		one := kmsg.NewMetadataRequestTopic()
		one.Topic = kmsg.StringPtr(name)
		req.Topics = append(req.Topics, one)
	}
	resp, err := request[*kmsg.MetadataResponse](ctx, c, req)
	if err != nil {
		return nil, 0, err
	}
	out := make(map[string]kmsg.MetadataResponseTopic, len(names))
	for _, m := range resp.Topics {
		if m.Topic != nil {
			out[*m.Topic] = m
		}
	}
	return out, len(resp.Brokers), nil
}

// askLeader makes a request that may be made again, at the leader, until it is answered, or ctx ends.
func (t *topic) askLeader(ctx context.Context, c *kgo.Client, ask func(*kgo.Broker) error) error {
	for try := 1; ; try++ {
		b, err := t.leads(ctx, c)
		if err == nil {
			err = ask(b)
		}
		if err == nil || errors.Is(err, ErrDamaged) || errors.Is(err, store.ErrUnavailable) ||
			errors.Is(err, errAway) || errors.Is(err, store.ErrTooLarge) {
			return err
		}
		t.leader.Store(noLeader)
		if ended := pause(ctx, backoff(try)); ended != nil {
			return fmt.Errorf("%w: %w", ended, err)
		}
	}
}

// pause waits, or says why ctx has ended.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}
