package publish

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Sink is a place that takes samples in batches: a server. Its methods are called by one goroutine at a time.
type Sink interface {
	// Send sends a batch once, without retries of its own, and says what became of it. It returns soon after ctx has
	// ended. Where nobody knows whether the sink has a sample, it is one to retry.
	Send(ctx context.Context, batch []Sample) Outcome
	// Close lets go of connections and goroutines. It is called once, after the last Send.
	Close() error
}

// Outcome says what became of a batch. What is in neither Retry nor Refused was sent. The zero value: all of it was
// sent.
type Outcome struct {
	Refused int           // samples that the sink will never take: they are dropped
	Retry   []Sample      // samples to send again, in their order
	Wait    time.Duration // how long the sink asks to wait before that; 0: as long as the back-off says
	Err     error         // why some were refused or are to be sent again; it contains no secret
	// Login says that the sink did not refuse these samples, but who sends them. A publisher from which it has taken
	// samples before keeps them for a while, and sends them again: a login that has expired, or a right that was lost,
	// is often given again.
	Login bool
}

// Refuse is the outcome of a batch that the sink will never take.
func Refuse(batch []Sample, err error) Outcome { return Outcome{Refused: len(batch), Err: err} }

// RetryAll is the outcome of a batch that has to be sent again.
func RetryAll(batch []Sample, wait time.Duration, err error) Outcome {
	return Outcome{Retry: batch, Wait: wait, Err: err}
}

// RefuseLogin is the outcome of a batch whose sender the sink does not let in.
func RefuseLogin(batch []Sample, err error) Outcome {
	return Outcome{Refused: len(batch), Err: err, Login: true}
}

// loginPatience is how long a sink that let the publisher in before may refuse its login before samples are dropped.
const loginPatience = 10 * time.Minute

// longestWait bounds what a sink may ask for.
const longestWait = 5 * time.Minute

var errUntold = errors.New("the sink did not say why")

// Batcher publishes samples to a Sink. All methods are safe from any goroutine; Run is called once.
type Batcher struct {
	pump
	sink Sink
	// Of the login; only the goroutine that sends uses them.
	letIn bool      // the sink has taken samples since it gave the login up
	outAt time.Time // since when it refuses the login; zero while it does not
}

var _ Publisher = (*Batcher)(nil)

// NewBatcher returns a publisher that sends to s and closes it when Run ends. The name is shown in errors and in the
// status, so it must contain no secret.
func NewBatcher(name string, s Sink, o Options) *Batcher {
	b := &Batcher{pump: newPump(name, o), sink: s}
	b.send, b.end = b.sendAll, s.Close
	return b
}

// sendAll sends a batch, again and again with back-off, until each sample was sent or refused, or hard ends.
func (b *Batcher) sendAll(soft, hard context.Context, batch []Sample) error {
	wait := b.o.RetryMin
	for {
		out := b.excuse(batch, b.attempt(hard, batch))
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

// excuse makes a refused login one to retry, where the sink has let the publisher in before.
func (b *Batcher) excuse(batch []Sample, out Outcome) Outcome {
	if !out.Login || out.Refused != len(batch) {
		if out.Refused+len(out.Retry) < len(batch) {
			b.letIn, b.outAt = true, time.Time{}
		}
		return out
	}
	if b.outAt.IsZero() {
		b.outAt = time.Now()
	}
	if b.letIn = b.letIn && time.Since(b.outAt) < loginPatience; b.letIn {
		return RetryAll(batch, out.Wait, out.Err)
	}
	return out
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
