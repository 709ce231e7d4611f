package nats

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	nc "github.com/nats-io/nats.go"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/driver"
)

const (
	pageMost = 1000 // records of one page
	inFlight = 32   // requests of one page that are under way at a time
	bulk     = 8    // records for which a replica is asked first
)

// journal is the log: a stream of one subject, whose sequences are the indexes and have no gaps.
type journal struct{ b *bucket }

// Journal implements driver.Journals. A bucket has one log.
func (b *bucket) Journal() driver.Journal { return journal{b} }

// freedError says that a record was freed, and where the log begins.
type freedError struct{ first uint64 }

func (e *freedError) Error() string { return fmt.Sprintf("freed up to %d", e.first-1) }

// Append implements driver.Journal: one message, sent once. Concurrent calls share the connection and wait for their
// acknowledgements in parallel.
func (j journal) Append(ctx context.Context, records [][]byte) ([]uint64, error) {
	if err := j.b.enter(ctx); err != nil {
		return nil, err
	}
	if len(records) != 1 || len(records[0]) > j.b.Limits().Value {
		return nil, fmt.Errorf("%d records, one of at most %d bytes (the server's max_payload) is taken: %w",
			len(records), j.b.most(), store.ErrTooLarge)
	}
	index, err := j.b.publish(ctx, j.b.names.log(), &nc.Msg{Subject: j.b.names.logSubject(), Data: records[0]})
	if err != nil {
		return nil, err
	}
	j.b.head.Reached(index)
	return []uint64{index}, nil
}

// Read implements driver.Journal. The head comes from the stream's leader, and a page has at most a thousand records.
func (j journal) Read(
	ctx context.Context, after uint64, n int,
) (records []store.Record, first, head uint64, err error) {
	if err := j.b.enter(ctx); err != nil {
		return nil, 0, 0, err
	}
	last, err := j.b.fetch(ctx, j.b.names.log(), getRequest{LastBy: j.b.names.logSubject()})
	if errors.Is(err, errAbsent) {
		return j.readEmpty(ctx, after, n)
	}
	if err == nil {
		err = j.b.believe(last.seq)
	}
	if err != nil || after >= last.seq || n < 1 {
		return nil, 0, last.seq, err
	}
	count := int(min(uint64(min(n, pageMost)), last.seq-after)) //nolint:gosec // n is not negative
	records = make([]store.Record, count)
	if after+uint64(count) == last.seq {
		count--
		records[count] = store.Record{Index: last.seq, Data: last.data}
	}
	err = j.readInto(ctx, records[:count], after+1)
	var freed *freedError
	switch {
	case errors.As(err, &freed):
		return nil, freed.first, last.seq, nil
	case err != nil:
		return nil, 0, 0, err
	}
	return records, 0, last.seq, nil
}

// readEmpty reads a log without records: a new one, or one that is all freed.
func (j journal) readEmpty(
	ctx context.Context, after uint64, n int,
) (records []store.Record, first, head uint64, err error) {
	state, err := j.state(ctx)
	switch {
	case err != nil:
		return nil, 0, 0, err
	case state.Messages > 0: // appended since we looked
		return j.Read(ctx, after, n)
	}
	return nil, state.Last + 1, state.Last, j.b.believe(state.Last)
}

// readInto reads the records from an index on: many from any replica, in one request; those that it lacks from the
// leader, several requests at a time.
func (j journal) readInto(ctx context.Context, records []store.Record, from uint64) error {
	if len(records) >= bulk {
		r := batchRequest{Seq: from, Next: j.b.names.logSubject(), Batch: len(records)}
		page, _, err := j.b.batch(ctx, j.b.names.log(), r)
		if err != nil {
			return err
		}
		for len(page) > 0 && len(records) > 0 && page[0].seq == from {
			records[0] = store.Record{Index: from, Data: page[0].data}
			page, records, from = page[1:], records[1:], from+1
		}
	}
	var wg sync.WaitGroup
	var next atomic.Int64
	errs := make([]error, min(inFlight, len(records)))
	for worker := range errs {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(records) && errs[worker] == nil; i = int(next.Add(1)) - 1 {
				records[i], errs[worker] = j.record(ctx, from+uint64(i)) //nolint:gosec // i is not negative
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// record reads one record below the head. What is missing was freed, or is lost.
func (j journal) record(ctx context.Context, index uint64) (store.Record, error) {
	m, err := j.b.fetch(ctx, j.b.names.log(), getRequest{Seq: index})
	if err == nil {
		return store.Record{Index: index, Data: m.data}, nil
	}
	if !errors.Is(err, errAbsent) {
		return store.Record{}, err
	}
	state, err := j.state(ctx)
	switch {
	case err != nil:
		return store.Record{}, err
	case index < state.First:
		return store.Record{}, &freedError{state.First}
	}
	return store.Record{}, fmt.Errorf("%w: stream %s has no record %d, between %d and %d",
		ErrDamaged, j.b.names.log(), index, state.First, state.Last)
}

type streamState struct {
	Messages uint64 `json:"messages"`
	First    uint64 `json:"first_seq"`
	Last     uint64 `json:"last_seq"`
}

func (j journal) state(ctx context.Context) (streamState, error) {
	var out struct {
		State streamState `json:"state"`
	}
	err := j.b.api(ctx, "STREAM.INFO", j.b.names.log(), struct{}{}, &out, false)
	return out.State, readError(err)
}

// Free implements driver.Journal. The stream continues to count from the last index.
func (j journal) Free(ctx context.Context, upTo uint64) error {
	if err := j.b.enter(ctx); err != nil {
		return err
	}
	return j.b.purge(ctx, j.b.names.log(), purgeRequest{Seq: upTo + 1})
}

// Start implements driver.Journal: a purge up to a sequence that an empty stream has not reached moves its sequence
// there.
func (j journal) Start(ctx context.Context, index uint64) error {
	if err := j.b.enter(ctx); err != nil {
		return err
	}
	state, err := j.state(ctx)
	switch {
	case err != nil:
		return err
	case state.Last != 0 && (state.Last != index || state.Messages > 0):
		return fmt.Errorf("the log ends at %d: %w", state.Last, store.ErrConflict)
	case state.Last == index:
		return nil
	}
	return j.b.purge(ctx, j.b.names.log(), purgeRequest{Seq: index + 1})
}

// Watch implements driver.Journal: a hint comes after its record was stored.
func (j journal) Watch(ctx context.Context, hint func()) error {
	return j.b.watch(ctx, j.b.names.log(), j.b.names.logSubject(), hint)
}

// believe refuses what a leader that was replaced answers; a server without replicas cannot be replaced.
func (b *bucket) believe(index uint64) error {
	if b.replicas == 1 {
		return nil
	}
	return b.head.Believe(index)
}
