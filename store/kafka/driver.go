package kafka

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/driver"
	"github.com/rota-run/rota/store/engine"
	"github.com/rota-run/rota/store/internal/fold"
)

// cluster is one handle as a driver: rows folded from a topic, a log, and logs by their names.
type cluster struct {
	*fold.Rows
	line     *line
	log      *journal
	name     string
	replicas int // of topics that it makes; 0: the default
}

// newCluster makes a driver of open topics.
func newCluster(o Options, l *line, topics []*topic) *cluster {
	for _, t := range topics {
		t.line = l
	}
	under := &journal{records: topics[2], values: topics[3]}
	replicated := topics[2].replicas > 1
	c := &cluster{line: l, name: o.Name, replicas: o.Replicas, log: &journal{records: topics[0], values: topics[1]}}
	most := driver.Limits{
		Value: MaxRecord + 1, Swap: maxBatch - batchHead, Each: recordHead, Batch: batchMost,
		Keys: 1 << 20, Page: 1 << 20, Lingers: true,
	}
	c.Rows = fold.New(l.life, under, fold.Options{
		Limits: most, SaveEvery: o.SnapshotEvery, Confirm: replicated && !o.ReadOnly, Timeout: o.Timeout, Logger: l.log,
	})
	c.log.begin = engine.NewRows(c, rand.Text()[:16])
	return c
}

// closeWait is how long Close waits for the client, which may have a request in flight that nobody answers.
const closeWait = 2 * time.Second

// Close implements driver.Driver. It does not wait for requests in flight: a frozen broker never answers them.
func (c *cluster) Close() error {
	if !c.line.life.Close() {
		return nil
	}
	c.line.life.End()
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		c.line.client.Close()
	}()
	select {
	case <-closed:
	case <-time.After(closeWait):
		c.line.log.Warn("a request is still in flight: its connection is left to the client")
	}
	return nil
}

// Journal implements driver.Journals.
func (c *cluster) Journal() driver.Journal { return c.log }

// OpenJournal implements driver.NamedJournals: two topics for each.
func (c *cluster) OpenJournal(ctx context.Context, name string, create bool) (driver.Journal, error) {
	ctx, leave, err := c.line.call(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	names := topicsOf(c.name, name)
	info, err := lookUp(ctx, c.line, Options{Name: c.name, Replicas: c.replicas, MustExist: !create,
		Timeout: c.line.timeout}, names)
	if err != nil {
		if errors.Is(err, store.ErrNotFound) {
			return nil, err
		}
		return nil, readError(ctx, err)
	}
	return &journal{records: newTopic(c.line, info[names[0]]), values: newTopic(c.line, info[names[1]]), named: true},
		nil
}

// DropJournal implements driver.NamedJournals.
func (c *cluster) DropJournal(ctx context.Context, name string) error {
	ctx, leave, err := c.line.call(ctx)
	if err != nil {
		return err
	}
	defer leave()
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.TimeoutMillis = int32(c.line.timeout.Milliseconds())
	for _, topic := range topicsOf(c.name, name) {
		one := kmsg.NewDeleteTopicsRequestTopic()
		one.Topic = kmsg.StringPtr(topic)
		req.Topics = append(req.Topics, one)
		req.TopicNames = append(req.TopicNames, topic)
	}
	resp, err := request[*kmsg.DeleteTopicsResponse](ctx, c.line.client, req)
	if err != nil {
		return changeError(err)
	}
	for _, t := range resp.Topics {
		if err := kerr.ErrorForCode(t.ErrorCode); err != nil && !isGone(err) {
			return fmt.Errorf("%w: delete the topics of a log: %w", store.ErrUnavailable, err)
		}
	}
	return nil
}

// isGone reports whether there is no such topic.
func isGone(err error) bool {
	return errors.Is(err, kerr.UnknownTopicOrPartition) || errors.Is(err, kerr.UnknownTopicID)
}
