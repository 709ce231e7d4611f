package journal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rota-run/rota/internal/wait"
	"github.com/rota-run/rota/store"
)

// Buffered writes records in the background: Add never blocks. Records that do not fit into the queue are summed up:
// one record says how many there were of a kind, with one cause.
type Buffered struct {
	to      Appender
	queue   chan Record
	dropped atomic.Int64
	log     *slog.Logger

	mu    sync.RWMutex // Add reads, the end writes: no record is queued that nobody will take
	ended bool

	sumsMu sync.Mutex
	sums   sums
}

const (
	queueLength = 4096
	batchLength = 100
	retryFirst  = time.Second
	retryLast   = 30 * time.Second
	// tryFor bounds one try: a store that does not answer must not keep the journal from noticing that it is back.
	tryFor = 30 * time.Second
	// flushFor bounds what Run does after its context has ended.
	flushFor = 2 * time.Second
)

// NewBuffered returns a buffer of 4096 records in front of an Appender; Run writes them. Without a logger nothing is
// logged.
func NewBuffered(to Appender, log *slog.Logger) *Buffered {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Buffered{to: to, queue: make(chan Record, queueLength), log: log}
}

// Add queues a record, with the present time unless it has one; if the queue is full, it is summed up with others like
// it. It is safe from any goroutine and never blocks. After Run has returned, records are dropped.
func (b *Buffered) Add(r Record) {
	if r.AtMS == 0 {
		r.AtMS = time.Now().UnixMilli()
	}
	b.mu.RLock()
	defer b.mu.RUnlock()
	if b.ended {
		b.dropped.Add(1)
		return
	}
	select {
	case b.queue <- r:
	default:
		b.sum(r)
	}
}

func (b *Buffered) sum(r Record) {
	b.sumsMu.Lock()
	defer b.sumsMu.Unlock()
	if b.sums == nil {
		b.sums = make(sums)
	}
	b.sums.add(r)
}

// Dropped is the number of lost records: one was too large for the store, or the process ended while the store was
// unreachable.
func (b *Buffered) Dropped() int64 { return b.dropped.Load() }

// Run writes until ctx ends, then makes one attempt, for two seconds at most, to write the rest of the queue. It is
// called once.
func (b *Buffered) Run(ctx context.Context) {
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case r := <-b.queue:
			if rest := b.write(ctx, b.batch(r)); len(rest) > 0 {
				b.end(rest)
				return
			}
			if len(b.queue) == 0 {
				b.writeSums(ctx)
			}
		}
	}
	b.end(nil)
}

func (b *Buffered) takeSums() sums {
	b.sumsMu.Lock()
	defer b.sumsMu.Unlock()
	s := b.sums
	b.sums = nil
	return s
}

// writeSums writes what did not fit into the queue, when that is empty again.
func (b *Buffered) writeSums(ctx context.Context) {
	s := b.takeSums()
	if len(s) == 0 {
		return
	}
	if rest := b.write(ctx, s.records()); len(rest) > 0 {
		b.drop(int(s.count()), context.Cause(ctx))
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

// write tries until it is done or ctx ends, and returns what is not written.
func (b *Buffered) write(ctx context.Context, batch []Record) []Record {
	pause := retryFirst
	for {
		err := b.try(ctx, batch, tryFor)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return batch // end writes it, and tells if it cannot
		}
		b.log.Warn("write the journal; trying again", "records", len(batch), "after", pause, "err", err)
		if !wait.For(ctx, pause) {
			return batch
		}
		pause = min(2*pause, retryLast)
	}
}

// try writes once. A batch that is too large for the store is written in halves; a record that is too large alone is
// dropped.
func (b *Buffered) try(ctx context.Context, batch []Record, within time.Duration) error {
	each, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	err := b.to.Append(each, batch...)
	switch {
	case err == nil || !errors.Is(err, store.ErrTooLarge):
		return err
	case len(batch) == 1:
		b.drop(1, err)
		return nil
	}
	half := len(batch) / 2
	// If the second half fails, the first is written again with it: duplicates are possible.
	return errors.Join(b.try(each, batch[:half], within), b.try(each, batch[half:], within))
}

func (b *Buffered) drop(n int, err error) {
	b.dropped.Add(int64(n))
	b.log.Warn("write the journal", "lost", n, "err", err)
}

// end writes what is left, within a bound for all of it, and counts what that leaves.
func (b *Buffered) end(rest []Record) {
	b.mu.Lock()
	b.ended = true
	b.mu.Unlock()
	for len(b.queue) > 0 {
		rest = append(rest, <-b.queue)
	}
	ctx, cancel := context.WithTimeout(context.Background(), flushFor)
	defer cancel()
	s := b.takeSums()
	for len(rest) > 0 {
		n := min(len(rest), batchLength)
		if err := b.try(ctx, rest[:n], flushFor); err != nil {
			b.drop(len(rest)+int(s.count()), err)
			return
		}
		rest = rest[n:]
	}
	if len(s) > 0 {
		if err := b.try(ctx, s.records(), flushFor); err != nil {
			b.drop(int(s.count()), err)
		}
	}
}

// alike is what records have in common that are summed up when the queue is full: many moves for one cause make one
// record.
type alike struct {
	kind                        Kind
	member, by, from, to, cause string
}

type total struct {
	count       int64
	first, last int64 // AtMS
	gap         *int64
}

// sums are the records that did not fit into the queue, by what they have in common.
type sums map[alike]total

// maxSums bounds the kinds of records that are kept apart: beyond it only kind and member are.
const maxSums = 64

func (s sums) add(r Record) {
	k := alike{r.Kind, r.Member, r.By, r.From, r.To, r.Cause}
	t, ok := s[k]
	if !ok && len(s) >= maxSums {
		k = alike{kind: r.Kind, member: r.Member}
		t, ok = s[k]
	}
	if !ok {
		t.first = r.AtMS
	}
	t.count++
	t.first, t.last = min(t.first, r.AtMS), max(t.last, r.AtMS)
	if r.GapMS != nil && (t.gap == nil || *r.GapMS > *t.gap) {
		t.gap = r.GapMS
	}
	s[k] = t
}

// count is the number of records that were summed up.
func (s sums) count() (n int64) {
	for _, t := range s { // order-free: a sum
		n += t.count
	}
	return n
}

// records are one record for each kind, oldest first.
func (s sums) records() []Record {
	out := make([]Record, 0, len(s))
	for k, t := range s { // order-free: sorted below
		r := Record{AtMS: t.last, Kind: k.kind, Member: k.member, By: k.by, From: k.from, To: k.to, Cause: k.cause,
			GapMS: t.gap, Count: t.count}
		r.Message = fmt.Sprintf("%d more like this within %s, too many at once to be kept one by one", t.count,
			time.Duration(t.last-t.first)*time.Millisecond)
		if t.gap != nil {
			r.Message += "; the longest"
		}
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b Record) int {
		return cmp.Or(cmp.Compare(a.AtMS, b.AtMS), cmp.Compare(a.Line(), b.Line()))
	})
	return out
}
