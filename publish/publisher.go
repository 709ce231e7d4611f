package publish

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Publisher takes samples to a sink. Publish never blocks: what does not fit into the bounded queue is dropped and
// counted.
type Publisher interface {
	// Publish queues samples; the caller must not change them afterwards. Safe from any goroutine.
	Publish(samples ...Sample)
	// Run sends until ctx ends, then flushes what is queued, within the publisher's own bound, and returns.
	Run(ctx context.Context) error
	// Stats returns the counters so far.
	Stats() Stats
}

// Stats counts samples.
type Stats struct {
	Queued  int64 `json:"queued"`  // waiting now
	Sent    int64 `json:"sent"`    // accepted by the sink
	Dropped int64 `json:"dropped"` // lost: queue full, or refused for good
	Errors  int64 `json:"errors"`  // failed attempts
}

type fanout []Publisher

// Fanout returns a publisher that passes every sample to all of them. Its Run ends when all of theirs have, with their
// errors joined: a sink with a permanent error does not stop the others. Its Stats are sums, so a sample counts once
// per sink.
func Fanout(publishers ...Publisher) Publisher {
	if len(publishers) == 1 {
		return publishers[0]
	}
	return fanout(publishers)
}

func (f fanout) Publish(samples ...Sample) {
	for _, p := range f {
		p.Publish(samples...)
	}
}

func (f fanout) Run(ctx context.Context) error {
	errs := make([]error, len(f))
	var all sync.WaitGroup
	for i, p := range f {
		all.Go(func() { errs[i] = p.Run(ctx) })
	}
	all.Wait()
	return errors.Join(errs...)
}

func (f fanout) Stats() Stats {
	var sum Stats
	for _, p := range f {
		s := p.Stats()
		sum.Queued += s.Queued
		sum.Sent += s.Sent
		sum.Dropped += s.Dropped
		sum.Errors += s.Errors
	}
	return sum
}

// Sinks returns the status of each sink.
func (f fanout) Sinks() []Status {
	var all []Status
	for _, p := range f {
		all = append(all, Sinks(p)...)
	}
	return all
}

// Reopen opens again what others may have renamed, in each publisher that can do it.
func (f fanout) Reopen() error {
	var errs []error
	for _, p := range f {
		if file, ok := p.(interface{ Reopen() error }); ok {
			errs = append(errs, file.Reopen())
		}
	}
	return errors.Join(errs...)
}

// Status is how one sink is doing.
type Status struct {
	Name string `json:"name"` // where the samples go, without secrets
	Stats
	LagMS         int64  `json:"lag_ms"`               // how long ago the oldest sample that waits was queued
	LastError     string `json:"last_error,omitempty"` // of the last attempt that failed; no secrets
	LastErrorAtMS int64  `json:"last_error_at_ms,omitempty"`
}

// Sinks returns the status of each sink that p sends to. A publisher that does not report any by a method Sinks is one
// sink without a name.
func Sinks(p Publisher) []Status {
	if s, ok := p.(interface{ Sinks() []Status }); ok {
		return s.Sinks()
	}
	return []Status{{Stats: p.Stats()}}
}

type named struct {
	Publisher
	name string
}

// Named gives a publisher a name for its status, if it has none.
func Named(name string, p Publisher) Publisher {
	if _, ok := p.(interface{ Sinks() []Status }); ok {
		return p
	}
	return named{p, name}
}

func (n named) Sinks() []Status { return []Status{{Name: n.name, Stats: n.Stats()}} }

// Options tune a publisher. The zero value is a good default.
type Options struct {
	Queue        int           // samples that may wait; default 10,000
	Batch        int           // samples written at once at most; default 500
	FlushEvery   time.Duration // pause between writes of less than a batch; default 100 ms. The first sample after a pause is written at once
	FlushTimeout time.Duration // how long Run may continue writing after its ctx ended; default 2 s
	SendTimeout  time.Duration // how long a sink on a server may take for one attempt; default 10 s
	RetryMin     time.Duration // first pause before a failed write is retried; default 50 ms
	RetryMax     time.Duration // longest such pause; default 5 s
}

func (o Options) withDefaults() Options {
	if o.Queue <= 0 {
		o.Queue = 10_000
	}
	if o.Batch <= 0 {
		o.Batch = 500
	}
	setDefault(&o.FlushEvery, 100*time.Millisecond)
	setDefault(&o.FlushTimeout, 2*time.Second)
	setDefault(&o.SendTimeout, 10*time.Second)
	setDefault(&o.RetryMin, 50*time.Millisecond)
	setDefault(&o.RetryMax, 5*time.Second)
	o.RetryMax = max(o.RetryMax, o.RetryMin)
	return o
}

func setDefault(d *time.Duration, v time.Duration) {
	if *d <= 0 {
		*d = v
	}
}
