package publish

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Sink is a place that takes samples in batches: a server. Its methods are called by one goroutine at a time.
type Sink interface {
	// Send sends a batch once, without retries of its own, and says what became of it. It returns soon after ctx has ended.
	// Where nobody knows whether the sink has a sample, it is one to retry.
	Send(ctx context.Context, batch []Sample) Outcome
	// Close lets go of connections and goroutines. It is called once, after the last Send.
	Close() error
}

// Outcome says what became of a batch. What is in neither Retry nor Refused was sent. The zero value: all of it was sent.
type Outcome struct {
	Refused int           // samples that the sink will never take: they are dropped
	Retry   []Sample      // samples to send again, in their order
	Wait    time.Duration // how long the sink asks to wait before that; 0: as long as the back-off says
	Err     error         // why some were refused or are to be sent again; it contains no secret
}

// Refuse is the outcome of a batch that the sink will never take.
func Refuse(batch []Sample, err error) Outcome { return Outcome{Refused: len(batch), Err: err} }

// RetryAll is the outcome of a batch that has to be sent again.
func RetryAll(batch []Sample, wait time.Duration, err error) Outcome {
	return Outcome{Retry: batch, Wait: wait, Err: err}
}

// longestWait bounds what a sink may ask for.
const longestWait = 5 * time.Minute

var errUntold = errors.New("the sink did not say why")

// Batcher publishes samples to a Sink. All methods are safe from any goroutine; Run is called once.
type Batcher struct {
	pump
	sink Sink
}

var _ Publisher = (*Batcher)(nil)

// NewBatcher returns a publisher that sends to s and closes it when Run ends. The name is shown in errors and in the status, so it must contain no secret.
func NewBatcher(name string, s Sink, o Options) *Batcher {
	b := &Batcher{pump: newPump(name, o), sink: s}
	b.send, b.end = b.sendAll, s.Close
	return b
}

// sendAll sends a batch, again and again with back-off, until each sample was sent or refused, or hard ends.
func (b *Batcher) sendAll(soft, hard context.Context, batch []Sample) error {
	wait := b.o.RetryMin
	for {
		out := b.attempt(hard, batch)
		refused := min(max(out.Refused, 0), len(batch))
		retry := min(len(out.Retry), len(batch)-refused)
		if out.Err == nil && refused+retry > 0 {
			out.Err = errUntold
		}
		if out.Err != nil {
			b.q.failed(out.Err)
		}
		b.q.settle(len(batch)-refused-retry, refused)
		if retry == 0 {
			return nil
		}
		if retry < len(batch) {
			wait = b.o.RetryMin // the sink takes something
		}
		batch = out.Retry[:retry]
		if !b.rest(soft, hard, wait, out.Wait) {
			return fmt.Errorf("%w: %w", errStuck, out.Err)
		}
		wait = min(2*wait, b.o.RetryMax)
	}
}

// rest waits before the next attempt: as the back-off says, or between one and two times what the sink asks for.
func (b *Batcher) rest(soft, hard context.Context, backoff, asked time.Duration) bool {
	return sleep(soft, hard, max(backoff, 2*min(asked, longestWait)))
}

// attempt is one call of the sink. One that panics is a fault of the sink and costs the batch, not the member.
func (b *Batcher) attempt(ctx context.Context, batch []Sample) (out Outcome) {
	ctx, cancel := context.WithTimeoutCause(ctx, b.o.SendTimeout, fmt.Errorf("no answer within %v", b.o.SendTimeout))
	defer cancel()
	defer func() {
		if r := recover(); r != nil {
			out = Refuse(batch, fmt.Errorf("the sink panicked: %v", r))
		}
	}()
	return b.sink.Send(ctx, batch)
}
