package kafka

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/rota-run/rota"
	"github.com/rota-run/rota/cluster"
)

// watching is one run of a partition of the task that looks for partitions of its topic.
type watching struct {
	reader *reader
	grant  *rota.Grant
	config Config
	part   part
}

// seen is the position of one that watches: how many partitions it has decided to split for. A later run splits for the
// same number: with another one the children would have other names than those that are there.
type seen struct {
	Partitions int32 `json:"partitions"`
}

// run returns nil when there were partitions to find and they are in the cluster.
func (w watching) run(ctx context.Context) error {
	count, err := w.decided(ctx)
	if err != nil {
		return err
	}
	for count <= w.part.first {
		t, err := w.reader.topic(ctx, w.part.topic, time.Duration(w.config.Timeout))
		if err != nil {
			return err
		}
		if count = t.partitions; count > w.part.first {
			if err := w.decide(ctx, count); err != nil {
				return err
			}
			break
		}
		if err := pause(ctx, time.Duration(w.config.Watch)); err != nil {
			return err
		}
	}
	return w.split(ctx, count)
}

func (w watching) decided(ctx context.Context) (int32, error) {
	data, err := w.grant.LoadPosition(ctx)
	if err != nil || data == nil {
		return 0, err
	}
	var s seen
	if err := json.Unmarshal(data, &s); err != nil {
		return 0, fmt.Errorf("decode what was decided: %w", err)
	}
	return s.Partitions, nil
}

func (w watching) decide(ctx context.Context, count int32) error {
	data, err := json.Marshal(seen{count})
	if err == nil {
		err = w.grant.SavePosition(ctx, data)
	}
	return err
}

// split adds what consumes the new partitions, and who looks for more of them.
func (w watching) split(ctx context.Context, count int32) error {
	parents := []string{w.grant.Key}
	children := make([]cluster.Child, 0, count-w.part.first+1)
	for n := w.part.first; n < count; n++ {
		children = append(children, cluster.Child{Key: part{topic: w.part.topic, number: n}.key(), Parents: parents})
	}
	children = append(children, cluster.Child{Key: part{topic: w.part.topic, watches: true, first: count}.key(),
		Parents: parents})
	for some := range slices.Chunk(children, maxSplit) {
		if err := w.grant.Split(ctx, some); err != nil {
			return err
		}
	}
	w.grant.Log.Info("found partitions", "topic", w.part.topic, "from", w.part.first, "to", count-1)
	return nil
}

// maxSplit is how many children are added in one entry of the log.
const maxSplit = 500

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

var _ kgo.HookBrokerConnect = (*outage)(nil)

// outage tells of brokers that can't be reached, once each time, and remembers why.
type outage struct {
	log     *slog.Logger
	brokers string

	mu   sync.Mutex
	last error // nil while the last attempt was a connection
}

// OnBrokerConnect implements [kgo.HookBrokerConnect].
func (o *outage) OnBrokerConnect(meta kgo.BrokerMetadata, _ time.Duration, _ net.Conn, err error) {
	if errors.Is(err, context.Canceled) {
		return // by who has asked
	}
	o.mu.Lock()
	was := o.last
	o.last = err
	o.mu.Unlock()
	switch {
	case err != nil && was == nil:
		o.log.Warn("a broker does not answer; its partitions wait", "host", meta.Host, "port", meta.Port, "cause",
			err.Error())
	case err == nil && was != nil:
		o.log.Info("brokers answer again", "host", meta.Host, "port", meta.Port)
	}
}

// cause is why the last attempt to connect did not succeed, nil if it did.
func (o *outage) cause() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.last
}
