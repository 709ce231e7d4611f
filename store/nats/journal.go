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
	inner "github.com/rota-run/rota/store/internal/driver"
)

const (
	pageMost = 1000 // records of one page
	inFlight = 32   // requests of one page that are under way at a time
	bulk     = 8    // records for which a replica is asked first
)

// journal is a log: a stream of one subject, whose sequences are the indexes and have no gaps.
type journal struct {
	b               *bucket
	stream, subject string
	head            *inner.Head
}

// Journal implements driver.Journals.
func (b *bucket) Journal() driver.Journal {
	return journal{b, b.names.log(), b.names.logSubject(), &b.head}
}

// OpenJournal implements driver.NamedJournals.
func (b *bucket) OpenJournal(ctx context.Context, name string, create bool) (driver.Journal, error) {
	j := journal{b, b.names.journal(name), b.names.journalSubject(name), new(inner.Head)}
	_, err := b.streamConfig(ctx, j.stream)
	if isCode(err, codeStreamNotFound) && create {
		_, err = b.makeStream(ctx, logConfig(j.stream, j.subject, b.replicas))
	}
	if err == nil {
		err = b.served(ctx, j.stream, j.subject)
	}
	return j, streamError(err)
}

// DropJournal implements driver.NamedJournals.
func (b *bucket) DropJournal(ctx context.Context, name string) error {
	err := b.api(ctx, "STREAM.DELETE", b.names.journal(name), struct{}{}, nil, true)
	if isCode(err, codeStreamNotFound) {
		return nil
	}
	return streamError(err)
}

// streamError gives an error of a call that makes or removes a stream its meaning.
func streamError(err error) error {
	var refused *apiError
	switch {
	case !errors.As(err, &refused) || errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrUnknown):
		return err
	case refused.Code == codeStreamNotFound:
		return fmt.Errorf("%w: %w", store.ErrNotFound, err)
	}
	return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
}

// gone finds out whether a call failed because the log was dropped: then nobody answers.
func (j journal) gone(ctx context.Context, err error) error {
	if err == nil || !errors.Is(err, store.ErrUnavailable) || ctx.Err() != nil || j.subject == j.b.names.logSubject() {
		return err
	}
	if _, ask := j.b.streamConfig(ctx, j.stream); isCode(ask, codeStreamNotFound) {
		return streamError(ask)
	}
	return err
}

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
	index, err := j.b.publish(ctx, j.stream, &nc.Msg{Subject: j.subject, Data: records[0]})
	if err != nil {
		return nil, j.gone(ctx, err)
	}
	j.head.Reached(index)
	return []uint64{index}, nil
}

// Read implements driver.Journal.
func (j journal) Read(
	ctx context.Context, after uint64, n int,
) (records []store.Record, first, head uint64, err error) {
	records, first, head, err = j.read(ctx, after, n)
	return records, first, head, j.gone(ctx, err)
}

// read reads a page. The head comes from the stream's leader, and a page has at most a thousand records.
func (j journal) read(
	ctx context.Context, after uint64, n int,
) (records []store.Record, first, head uint64, err error) {
	if err := j.b.enter(ctx); err != nil {
		return nil, 0, 0, err
	}
	last, err := j.b.fetch(ctx, j.stream, getRequest{LastBy: j.subject})
	if errors.Is(err, errAbsent) {
		return j.readEmpty(ctx, after, n)
	}
	if err == nil {
		err = j.believe(last.seq)
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
		return j.read(ctx, after, n)
	}
	return nil, state.Last + 1, state.Last, j.believe(state.Last)
}

// readInto reads the records from an index on: many from any replica, in one request; those that it lacks from the
// leader, several requests at a time.
func (j journal) readInto(ctx context.Context, records []store.Record, from uint64) error {
	if len(records) >= bulk {
		r := batchRequest{Seq: from, Next: j.subject, Batch: len(records)}
		page, _, err := j.b.batch(ctx, j.stream, r)
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
	m, err := j.b.fetch(ctx, j.stream, getRequest{Seq: index})
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
		ErrDamaged, j.stream, index, state.First, state.Last)
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
	err := j.b.api(ctx, "STREAM.INFO", j.stream, struct{}{}, &out, false)
	return out.State, readError(err)
}

// Free implements driver.Journal. The stream continues to count from the last index.
func (j journal) Free(ctx context.Context, upTo uint64) error {
	if err := j.b.enter(ctx); err != nil {
		return err
	}
	return j.b.purge(ctx, j.stream, purgeRequest{Seq: upTo + 1})
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
	return j.b.purge(ctx, j.stream, purgeRequest{Seq: index + 1})
}

// Watch implements driver.Journal: a hint comes after its record was stored.
func (j journal) Watch(ctx context.Context, hint func()) error {
	return j.b.watch(ctx, j.stream, j.subject, hint)
}

// believe refuses what a leader that was replaced answers; a server without replicas cannot be replaced.
func (j journal) believe(index uint64) error {
	if j.b.replicas == 1 {
		return nil
	}
	return j.head.Believe(index)
}
