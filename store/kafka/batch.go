package kafka

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/rota-run/rota/store"
)

// batch collects the appends that are made while others are under way, so that they share the next request.
type batch struct {
	mu      sync.Mutex
	waiting []*sending
	busy    bool // somebody sends
}

// sending is one append.
type sending struct {
	ctx    context.Context
	record *kgo.Record
	done   chan error // has room for one
}

// add lets a record be sent, and waits for its answer: not longer than ctx, the store and its timeout allow.
func (b *batch) add(ctx context.Context, t *topic, r *kgo.Record) (int64, error) {
	r.Topic = t.name
	s := &sending{ctx: ctx, record: r, done: make(chan error, 1)}
	b.mu.Lock()
	b.waiting = append(b.waiting, s)
	if !b.busy {
		b.busy = t.line.begin(func() { b.send(t) })
	}
	b.mu.Unlock()
	late := time.NewTimer(t.line.timeout)
	defer late.Stop()
	select {
	case err := <-s.done:
		if err != nil {
			return 0, t.refused(ctx, err)
		}
		return r.Offset, nil
	case <-ctx.Done():
		return 0, b.giveUp(s, context.Cause(ctx))
	case <-t.line.life.Done():
		return 0, b.giveUp(s, store.ErrClosed)
	case <-late.C:
		return 0, b.giveUp(s, errTimeout)
	}
}

// giveUp takes a record back, if it was not sent yet.
func (b *batch) giveUp(s *sending, why error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if i := slices.Index(b.waiting, s); i >= 0 {
		b.waiting = slices.Delete(b.waiting, i, i+1)
		return fmt.Errorf("%w: not sent: %w", store.ErrUnavailable, why)
	}
	return fmt.Errorf("%w: %w", store.ErrUnknown, why)
}

// take returns what waits; nothing: the sender has ended.
func (b *batch) take() []*sending {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := b.waiting
	b.waiting = nil
	b.busy = len(out) > 0
	return out
}

// send sends what waits, until nothing does.
func (b *batch) send(t *topic) {
	for all := b.take(); len(all) > 0; all = b.take() {
		answered := make(chan struct{}, len(all))
		for _, s := range all {
			t.line.client.TryProduce(s.ctx, s.record, func(_ *kgo.Record, err error) {
				s.done <- err
				answered <- struct{}{}
			})
		}
		for range all {
			select {
			case <-answered:
			case <-t.line.life.Done():
				return
			}
		}
	}
}
