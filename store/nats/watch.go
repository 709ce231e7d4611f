package nats

import (
	"context"
	"fmt"
	"time"

	nc "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/rota-run/rota/store"
)

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
