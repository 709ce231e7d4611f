package publish

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"
)

var (
	errTwice = errors.New("the publisher was already run")
	errStuck = errors.New("the sink did not take the last samples in time")
)

// pump moves samples from a bounded queue to a sink, batch by batch: what all publishers of this package have in
// common.
type pump struct {
	name string
	o    Options
	q    *queue
	// send sends a batch and settles it. It returns an error where the sink can take nothing more. soft ends when the
	// publisher is asked to end, hard when it has to.
	send  func(soft, hard context.Context, batch []Sample) error
	abort func()       // ends a call that does not look at hard; may be nil
	end   func() error // closes the sink; may be nil
	ran   atomic.Bool
}

func newPump(name string, o Options) pump {
	o = o.withDefaults()
	return pump{name: name, o: o, q: newQueue(o.Queue, o.Batch)}
}

// Name returns the name of the sink.
func (p *pump) Name() string { return p.name }

// Publish queues samples; see Publisher.
func (p *pump) Publish(samples ...Sample) { p.q.add(samples) }

// Stats returns the counters so far.
func (p *pump) Stats() Stats { return p.q.snapshot() }

// Sinks returns the status of the one sink.
func (p *pump) Sinks() []Status {
	s := p.q.report()
	s.Name = p.name
	return []Status{s}
}

// Run sends until ctx ends and then flushes the queue, for Options.FlushTimeout at most. It returns nil after such an
// end, or the reason why the sink can take no more samples. Samples that could not be sent are counted as dropped.
func (p *pump) Run(ctx context.Context) error {
	if !p.ran.CompareAndSwap(false, true) {
		return fmt.Errorf("publish to %s: %w", p.name, errTwice)
	}
	hard, giveUp := context.WithCancel(context.WithoutCancel(ctx))
	defer giveUp()
	done := make(chan error, 1)
	go func() { done <- p.loop(ctx, hard) }()
	err := p.await(ctx, giveUp, done)
	if left := p.q.close(); err != nil {
		return fmt.Errorf("publish to %s: %w; %d samples were dropped", p.name, err, left)
	}
	return nil
}

// await waits for the loop; after ctx ended it has FlushTimeout, then its pauses are cut, then a call that hangs is
// left alone.
func (p *pump) await(ctx context.Context, giveUp func(), done <-chan error) error {
	select {
	case err := <-done:
		return p.finish(err)
	case <-ctx.Done():
	}
	limit := time.NewTimer(p.o.FlushTimeout)
	defer limit.Stop()
	select {
	case err := <-done:
		return p.finish(err)
	case <-limit.C:
	}
	giveUp()
	if p.abort != nil {
		p.abort()
	}
	grace := time.NewTimer(p.o.FlushTimeout / 4)
	defer grace.Stop()
	select {
	case err := <-done:
		return p.finish(err)
	case <-grace.C:
		if p.end != nil {
			go func() { _ = p.finish(<-done) }() // closed when the call returns, if it does
		}
		return errStuck
	}
}

func (p *pump) finish(err error) error {
	if p.end == nil {
		return err
	}
	return errors.Join(err, p.end())
}

// loop sends batches until ctx has ended and the queue is empty, or the sink fails for good, or hard ends.
func (p *pump) loop(ctx, hard context.Context) error {
	for {
		select {
		case <-p.q.some:
		case <-ctx.Done():
		}
		batch := p.q.take()
		if len(batch) == 0 {
			if ctx.Err() != nil {
				return nil //nolint:nilerr // that is how it is asked to end
			}
			continue // the signal was for samples that the batch before took along
		}
		if err := p.send(ctx, hard, batch); err != nil {
			return err
		}
		p.pause(ctx)
	}
}

// pause gathers samples for a batch: a call for each sample would make a busy member slow.
func (p *pump) pause(ctx context.Context) {
	t := time.NewTimer(p.o.FlushEvery)
	defer t.Stop()
	select {
	case <-t.C:
	case <-p.q.full:
	case <-ctx.Done():
	}
}

// sleep waits between half of d and d, and reports whether hard allowed it. The end of soft cuts the wait short: what
// is left is tried at once.
func sleep(soft, hard context.Context, d time.Duration) bool {
	asked := soft.Done()
	if soft.Err() != nil {
		asked = nil // it has ended before: this is the wait between two of the last attempts
	}
	t := time.NewTimer(d/2 + rand.N(d/2+1))
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-asked:
		return hard.Err() == nil
	case <-hard.Done():
		return false
	}
}
