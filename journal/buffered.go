package journal

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"
)

// Buffered writes records behind the caller's back: Add never blocks. What does not fit into the queue is dropped and counted.
type Buffered struct {
	to      Journal
	queue   chan Record
	dropped atomic.Int64
	log     *slog.Logger
}

const (
	queueLength = 4096
	batchLength = 100
	retryAfter  = time.Second
)

// NewBuffered makes a buffer in front of a journal; Run writes.
func NewBuffered(to Journal, log *slog.Logger) *Buffered {
	return &Buffered{to: to, queue: make(chan Record, queueLength), log: log}
}

// Add queues a record. Safe from any goroutine.
func (b *Buffered) Add(r Record) {
	if r.AtMS == 0 {
		r.AtMS = time.Now().UnixMilli()
	}
	select {
	case b.queue <- r:
	default:
		b.dropped.Add(1)
	}
}

// Dropped is how many records were lost because the queue was full, or the process ended with the store away.
func (b *Buffered) Dropped() int64 { return b.dropped.Load() }

// Run writes until ctx ends, then what is still queued, once.
func (b *Buffered) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			b.flush()
			return
		case r := <-b.queue:
			b.write(ctx, b.batch(r))
		}
	}
}

func (b *Buffered) batch(first Record) []Record {
	batch := []Record{first}
	for len(batch) < batchLength {
		select {
		case r := <-b.queue:
			batch = append(batch, r)
		default:
			return batch
		}
	}
	return batch
}

// write tries until it is done or ctx ends.
func (b *Buffered) write(ctx context.Context, batch []Record) {
	for {
		err := b.to.Append(ctx, batch...)
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			b.last(batch)
			return
		case <-time.After(retryAfter):
			b.log.Debug("write the journal; trying again", "err", err)
		}
	}
}

func (b *Buffered) flush() {
	for {
		select {
		case r := <-b.queue:
			b.last(b.batch(r))
		default:
			return
		}
	}
}

// last writes once, after ctx has ended.
func (b *Buffered) last(batch []Record) {
	ctx, cancel := context.WithTimeout(context.Background(), retryAfter)
	defer cancel()
	if err := b.to.Append(ctx, batch...); err != nil {
		b.dropped.Add(int64(len(batch)))
		b.log.Warn("write the journal", "lost", len(batch), "err", err)
	}
}
