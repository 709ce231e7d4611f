package nats

import (
	"context"
	"fmt"
	"sync"
	"time"

	nc "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/rota-run/rota/store"
)

// forgetAfter is when the server removes the consumer of a process that has died.
const forgetAfter = time.Minute

// watchRetry is how long a watch that lost its consumer waits before it asks for another one.
const watchRetry = 500 * time.Millisecond

// watch turns the messages of a subject into hints.
type watch struct {
	store   *Store
	stream  string
	subject string
	hints   chan struct{}
	kick    chan struct{} // room 1: the connection is a new one
	fault   chan struct{} // room 1: the consumer reports an error

	mu    sync.Mutex
	ended bool // then hints is closed
}

// Watch implements store.Watcher, with a consumer on the documents' stream. Changes by the server, such as the end of a session's document,
// send a hint too, and so does each reconnection.
func (s *Store) Watch(ctx context.Context, prefix string) (<-chan struct{}, error) {
	if err := store.CheckPrefix(prefix); err != nil {
		return nil, fmt.Errorf("watch: %w", err)
	}
	hints, err := s.watch(ctx, s.names.docs(), s.names.below(prefix))
	if err != nil {
		return nil, fmt.Errorf("watch %q: %w", prefix, err)
	}
	return hints, nil
}

// WatchLog implements store.LogWatcher, with a consumer on the log's stream: a hint comes after its record was stored.
func (s *Store) WatchLog(ctx context.Context) (<-chan struct{}, error) {
	hints, err := s.watch(ctx, s.names.log(), s.names.logSubject())
	if err != nil {
		return nil, fmt.Errorf("watch log: %w", err)
	}
	return hints, nil
}

func (s *Store) watch(ctx context.Context, stream, subject string) (<-chan struct{}, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	w := &watch{store: s, stream: stream, subject: subject, hints: make(chan struct{}, 1), kick: make(chan struct{}, 1), fault: make(chan struct{}, 1)}
	consuming, err := w.consume(ctx)
	if err != nil {
		return nil, err
	}
	w.hint()
	if !s.begin(func() { s.watches[w] = struct{}{} }, func() { w.run(ctx, consuming) }) {
		consuming.stop()
		return nil, store.ErrClosed
	}
	return w.hints, nil
}

// consume starts a consumer that hands over what is written from now on, without the data.
func (w *watch) consume(ctx context.Context) (*consumption, error) {
	if !w.store.line.whole() {
		return nil, sendError(ctx, nc.ErrReconnectBufExceeded, false)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, w.store.timeout, errTimeout)
	defer cancel()
	consuming, err := within(ctx, func() (*consumption, error) { return w.start(ctx) }, (*consumption).stop)
	switch {
	case err == nil:
		return consuming, nil
	case ctx.Err() != nil:
		return nil, sendError(ctx, err, false)
	}
	return nil, fmt.Errorf("%w: %w", store.ErrUnavailable, err)
}

// start is what of consume may last longer than ctx.
func (w *watch) start(ctx context.Context) (*consumption, error) {
	consumer, err := w.store.js.OrderedConsumer(ctx, w.stream, jetstream.OrderedConsumerConfig{
		FilterSubjects:    []string{w.subject},
		DeliverPolicy:     jetstream.DeliverNewPolicy,
		HeadersOnly:       true,
		InactiveThreshold: forgetAfter,
	})
	if err != nil {
		return nil, err
	}
	consuming, err := consumer.Consume(func(jetstream.Msg) { w.hint() }, jetstream.ConsumeErrHandler(func(_ jetstream.ConsumeContext, err error) {
		w.store.log.Debug("watch", "stream", w.stream, "err", err)
		w.hint()
		select {
		case w.fault <- struct{}{}:
		default:
		}
	}))
	if err != nil {
		return nil, err
	}
	return &consumption{ConsumeContext: consuming, watch: w, consumer: consumer}, nil
}

// run lasts until the watch ends. On a new connection, and after an error, it makes another consumer before it hints: the client renews the one that was
// lost too, but does not say when, so a change just before that would give no hint. (In a cluster that is so when the first request to a new consumer finds
// that its node is not known everywhere yet.) If the client gives a consumer up, another one is made as well.
func (w *watch) run(ctx context.Context, consuming *consumption) {
	defer w.close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(w.store.life, cancel)()
	for {
		select {
		case <-ctx.Done():
			w.close() // before the client is asked, which may take time
			consuming.stop()
			return
		case <-consuming.Closed():
		case <-w.kick:
			consuming.stop()
		case <-w.fault:
			w.rest(ctx)
			consuming.stop()
		}
		if consuming = w.again(ctx); consuming == nil {
			return
		}
		w.hint() // for what was written in between
	}
}

// again makes another consumer, as often as it takes; nil when ctx has ended.
func (w *watch) again(ctx context.Context) *consumption {
	for {
		consuming, err := w.consume(ctx)
		if err == nil {
			return consuming
		}
		if w.rest(ctx); ctx.Err() != nil {
			return nil
		}
	}
}

// rest waits a while before another consumer is asked for, or until the connection is a new one.
func (w *watch) rest(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-w.kick:
	case <-time.After(watchRetry):
	}
}

// hint leaves a hint unless one lies there already, or the watch has ended.
func (w *watch) hint() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return
	}
	select {
	case w.hints <- struct{}{}:
	default:
	}
}

func (w *watch) close() {
	w.store.mu.Lock()
	delete(w.store.watches, w)
	w.store.mu.Unlock()
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.ended {
		w.ended = true
		close(w.hints)
	}
}

// hintAll leaves a hint for every watch, since something may have happened: the connection is there again.
func (s *Store) hintAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for w := range s.watches {
		w.hint()
		select {
		case w.kick <- struct{}{}:
		default:
		}
	}
}
