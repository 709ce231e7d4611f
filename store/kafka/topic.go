package kafka

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
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
	req.IncludeTopicAuthorizedOperations = true
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

// PutValues implements driver.JournalValues: the place of a value is its offset.
func (j *journal) PutValues(ctx context.Context, values [][]byte) ([]string, error) {
	ctx, leave, err := j.values.line.call(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	at := make([]string, 0, len(values))
	for len(values) > 0 {
		n := fitting(values)
		if n == 0 {
			return nil, inner.CheckSize(values[0], MaxRecord+1)
		}
		first, err := j.values.write(ctx, values[:n])
		if err != nil {
			return nil, inner.NotDone(j.gone(ctx, err))
		}
		for i := range int64(n) {
			at = append(at, strconv.FormatInt(first+i, 10))
		}
		values = values[n:]
	}
	return at, nil
}

// Values implements driver.JournalValues. What was put together is mostly read together.
func (j *journal) Values(ctx context.Context, at []string) ([][]byte, error) {
	ctx, leave, err := j.values.line.call(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	out, have := make([][]byte, len(at)), make(map[int64][]byte)
	for i, place := range at {
		offset, err := strconv.ParseInt(place, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("the place %q is no offset: %w", place, ErrDamaged)
		}
		if _, ok := have[offset]; !ok {
			err := j.values.note(ctx, offset, int32(min(leastBytes*(len(at)-i), fetchBytes)), have) //nolint:gosec // small
			if err != nil && !errors.Is(err, errAway) {
				return nil, j.gone(ctx, readError(ctx, err))
			}
		}
		out[i] = have[offset]
	}
	return out, nil
}

// note reads the record at an offset, and notes it with those that came along.
func (t *topic) note(ctx context.Context, offset int64, most int32, have map[int64][]byte) error {
	for {
		got, err := t.fetch(ctx, t.line.client, offset, most, 0)
		if err != nil {
			return err
		}
		for _, r := range got.records {
			data, ok, err := t.ours(r)
			if err != nil {
				return err
			}
			if ok {
				have[r.Offset] = data
			}
		}
		if _, ok := have[offset]; ok {
			return nil
		}
		if got.next > offset {
			return fmt.Errorf("topic %s has no record of ours at offset %d: %w", t.name, offset, ErrDamaged)
		}
		if err := pause(ctx, backoff(1)); err != nil { // a new leader does not yet know what all replicas have
			return err
		}
	}
}

// FreeValues implements driver.JournalValues.
func (j *journal) FreeValues(ctx context.Context, before string) error {
	ctx, leave, err := j.values.line.call(ctx)
	if err != nil {
		return err
	}
	defer leave()
	offset, err := strconv.ParseInt(before, 10, 64)
	if err != nil {
		return fmt.Errorf("the place %q is no offset: %w", before, store.ErrConflict)
	}
	return j.values.drop(ctx, offset)
}
