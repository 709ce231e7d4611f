package publish

import (
	"context"
	"errors"
	"sync"
)

type fanout []Publisher

// Fanout returns a publisher that passes every sample to all of them. Its Run ends when all of theirs have, with their errors joined: a
// sink with a permanent error does not stop the others. Its Stats are sums, so a sample counts once per sink.
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
