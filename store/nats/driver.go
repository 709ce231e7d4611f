package nats

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	nc "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/driver"
	inner "github.com/rota-run/rota/store/internal/driver"
)

// markerTTL is how long the stream keeps the message that says that a row is gone, for watches.
const markerTTL = "3600s"

// keysAtOnce is how many newest messages the server tells at once.
const keysAtOnce = 1024

// bucket is the driver of package engine: one handle on a bucket. A row is the newest message of its subject, and the
// sequence of that is its version.
type bucket struct {
	*wire
	head inner.Head // of the log
}

// Limits implements driver.Driver. Any replica answers a list, so it may be stale.
func (b *bucket) Limits() driver.Limits {
	most := b.most() + 1
	return driver.Limits{
		Value: most, Swap: most + headerRoom, Keys: 1, Range: driver.Late, Page: batchLimit, Batch: 1,
	}
}

// Read implements driver.Documents: one key after the other, each at the stream's leader. Stale: any replica.
func (b *bucket) Read(ctx context.Context, q driver.Query) (rows driver.Rows, err error) {
	if err := b.enter(ctx); err != nil {
		return rows, err
	}
	if q.From != "" {
		if rows.Range, rows.More, err = b.list(ctx, q); err != nil {
			return rows, err
		}
	}
	if q.Stale && len(q.Keys) > 0 && len(q.Keys) <= keysAtOnce {
		rows.Keys, err = b.anywhere(ctx, q.Keys)
		return rows, err
	}
	for _, key := range q.Keys {
		m, err := b.current(ctx, b.names.row(key))
		if err != nil {
			return rows, err
		}
		rows.Keys = append(rows.Keys, m.row(key))
	}
	return rows, nil
}

// Swap implements driver.Documents. With replicas, a refusal is looked up before it is believed.
func (b *bucket) Swap(ctx context.Context, op driver.Op, with ...driver.Op) (driver.Version, error) {
	if len(with) > 0 {
		return "", fmt.Errorf("%q: one row at a time: %w", op.Key, store.ErrTooLarge)
	}
	at, known := sequence(op.If)
	if !known {
		return "", &driver.Conflict{}
	}
	seq, err := b.write(ctx, op, at, nc.Header{})
	switch {
	case err != nil:
		return "", err
	case op.Delete:
		return "", nil
	}
	return versionOf(seq), nil
}

// write writes a row whose newest message has the sequence at, if its version is op.If.
func (b *bucket) write(ctx context.Context, op driver.Op, at uint64, h nc.Header) (seq uint64, err error) {
	if len(op.Value) > b.Limits().Value {
		return 0, fmt.Errorf("%q: %d bytes, at most %d (the server's max_payload): %w",
			op.Key, len(op.Value), b.most(), store.ErrTooLarge)
	}
	if err := b.enter(ctx); err != nil {
		return 0, err
	}
	h[headerName] = []string{op.Name}
	switch {
	case op.Delete:
		h[headerOperation], h[headerTTL], op.Value = []string{"PURGE"}, []string{markerTTL}, nil
	case op.Once:
		h[headerOnce] = []string{"1"}
	}
	ctx, cancel := b.bound(ctx)
	defer cancel()
	subject := b.names.row(op.Key)
	for {
		seq, err := b.swap(ctx, subject, at, h, op.Value)
		if !errors.Is(err, errMoved) {
			return seq, err
		}
		m, failed := b.current(ctx, subject)
		if failed != nil {
			return 0, inner.NotDone(failed)
		}
		row := m.row(op.Key)
		if row.Version != op.If {
			return 0, &driver.Conflict{Row: &row}
		}
		at = m.seq // of a marker, or of a repeated write
	}
}

// Free implements driver.Documents: nothing stays, not even a marker.
func (b *bucket) Free(ctx context.Context, keys []string) error {
	if err := b.enter(ctx); err != nil {
		return err
	}
	errs := make([]error, len(keys))
	var wg sync.WaitGroup
	room := make(chan struct{}, inFlight)
	for i, key := range keys {
		room <- struct{}{}
		wg.Go(func() {
			defer func() { <-room }()
			errs[i] = b.purge(ctx, b.names.docs(), purgeRequest{Filter: b.names.row(key)})
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// Watch implements driver.Documents, with a consumer on the rows' stream. Changes by the server, such as the end of a
// lease's row, send a hint too.
func (b *bucket) Watch(ctx context.Context, prefix string, hint func()) error {
	return b.watch(ctx, b.names.docs(), b.names.below(prefix), hint)
}

// row is what a message says of a key.
func (m message) row(key string) driver.Row {
	if m.marker() {
		return driver.Row{Key: key}
	}
	return driver.Row{Key: key, Name: m.header.Get(headerName), Value: m.data, Version: m.version()}
}

// forgetAfter is when the server removes the consumer of a process that has died.
const forgetAfter = time.Minute

// watch hints at what is written to a subject, until ctx, the consumer or the connection ends. A consumer that the
// client makes in place of a lost one does not say when: a change just before that would give no hint. So its first
// error ends the watch. If it is the connection that broke, the watch lasts until it is back, and then hints: whoever
// begins anew is not late.
func (w *wire) watch(ctx context.Context, stream, subject string, hint func()) error {
	if err := w.enter(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(w.life.Ctx, func() { cancel(context.Cause(w.life.Ctx)) })()
	release, ok := w.life.Hold()
	if !ok {
		return store.ErrClosed
	}
	line := w.line.current()
	c, err := w.consume(ctx, stream, subject)
	if err != nil {
		release()
		return err
	}
	defer func() {
		go func() { // the client may take its time
			defer release()
			c.stop()
		}()
	}()
	for hint(); ; hint() {
		select {
		case <-c.news:
			continue
		case <-ctx.Done():
			return context.Cause(ctx)
		case err = <-c.fault:
		case <-c.Closed():
			err = fmt.Errorf("%w: the consumer is gone", store.ErrUnavailable)
		case <-line.Done():
			err = fmt.Errorf("%w: %w", store.ErrUnavailable, errDisconnected)
			w.line.await(ctx)
		}
		hint()
		return err
	}
}

// consumption is a consumer at work.
type consumption struct {
	jetstream.ConsumeContext
	wire     *wire
	consumer jetstream.Consumer
	news     chan struct{} // room 1
	fault    chan error    // room 1
}

// consume starts a consumer that hands over what is written from now on, without the data.
func (w *wire) consume(ctx context.Context, stream, subject string) (*consumption, error) {
	if !w.line.whole() {
		return nil, sendError(ctx, nc.ErrReconnectBufExceeded, false)
	}
	ctx, cancel := w.bound(ctx)
	defer cancel()
	start := func() (*consumption, error) { return w.start(ctx, stream, subject) }
	c, err := within(ctx, start, (*consumption).stop)
	switch {
	case err == nil:
		return c, nil
	case ctx.Err() != nil:
		return nil, sendError(ctx, err, false)
	}
	return nil, fmt.Errorf("%w: %w", store.ErrUnavailable, err)
}

// start is what of consume may last longer than ctx.
func (w *wire) start(ctx context.Context, stream, subject string) (*consumption, error) {
	consumer, err := w.js.OrderedConsumer(ctx, stream, jetstream.OrderedConsumerConfig{
		FilterSubjects:    []string{subject},
		DeliverPolicy:     jetstream.DeliverNewPolicy,
		HeadersOnly:       true,
		InactiveThreshold: forgetAfter,
	})
	if err != nil {
		return nil, err
	}
	c := &consumption{wire: w, consumer: consumer, news: make(chan struct{}, 1), fault: make(chan error, 1)}
	failed := func(_ jetstream.ConsumeContext, err error) {
		w.log.Debug("watch", "stream", stream, "err", err)
		select {
		case c.fault <- fmt.Errorf("%w: %w", store.ErrUnavailable, err):
		default:
		}
	}
	came := func(jetstream.Msg) {
		select {
		case c.news <- struct{}{}:
		default:
		}
	}
	c.ConsumeContext, err = consumer.Consume(came, jetstream.ConsumeErrHandler(failed))
	if err != nil {
		return nil, err
	}
	return c, nil
}

// stop ends the consumer, returns when its last message was handled, and lets the server forget it. The client would
// leave that to time.
func (c *consumption) stop() {
	c.Stop()
	<-c.Closed()
	info := c.consumer.CachedInfo()
	if info == nil || !c.wire.line.whole() {
		return
	}
	conn := c.wire.conn
	subject := "$JS.API.CONSUMER.DELETE." + info.Stream + "." + info.Name
	err := conn.PublishRequest(subject, conn.NewInbox(), nil) // nobody waits for the answer
	if err != nil {
		c.wire.log.Debug("remove a consumer", "stream", info.Stream, "err", err)
	}
}
