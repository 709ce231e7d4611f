package nats

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	nc "github.com/nats-io/nats.go"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/internal/driver"
)

const (
	pageMost = 1000 // records of one page
	inFlight = 32   // requests of one page that are under way at a time
	bulk     = 8    // records for which a replica is asked first
)

// ErrDamaged marks data that is missing or wrong. Retrying does not help: restore the streams from a copy.
var ErrDamaged = errors.New("store is damaged")

// Append implements store.Log: one message, sent once. Concurrent calls share the connection and wait for their acknowledgements
// in parallel.
func (s *Store) Append(ctx context.Context, data []byte) (_ uint64, err error) {
	defer driver.Wrap(&err, "append")
	if err := s.enterChange(ctx); err != nil {
		return 0, err
	}
	if err := s.checkSize(data); err != nil {
		return 0, err
	}
	index, err := s.publish(ctx, s.names.log(), &nc.Msg{Subject: s.names.logSubject(), Data: data})
	if err == nil {
		s.head.reached(index)
	}
	return index, err
}

// Read implements store.Log. The head comes from the stream's leader, and a page has at most a thousand records.
func (s *Store) Read(ctx context.Context, after uint64, limit int) (store.Page, error) {
	if limit < 1 {
		return store.Page{}, fmt.Errorf("read log: limit is %d: give at least 1", limit)
	}
	page, err := s.read(ctx, after, min(limit, pageMost))
	if err != nil {
		return store.Page{}, fmt.Errorf("read log after %d: %w", after, err)
	}
	return page, nil
}

func (s *Store) read(ctx context.Context, after uint64, limit int) (store.Page, error) {
	if err := s.enter(ctx); err != nil {
		return store.Page{}, err
	}
	last, err := s.fetch(ctx, s.names.log(), getRequest{LastBy: s.names.logSubject()})
	if errors.Is(err, errAbsent) {
		return s.readEmpty(ctx, after)
	}
	if err != nil {
		return store.Page{}, err
	}
	if err := s.believe(last.seq); err != nil {
		return store.Page{}, err
	}
	page := store.Page{Head: last.seq}
	if after >= last.seq {
		return page, nil
	}
	count := int(min(uint64(limit), last.seq-after))
	page.Records = make([]store.Record, count)
	if after+uint64(count) == last.seq {
		count--
		page.Records[count] = store.Record{Index: last.seq, Data: last.data}
	}
	return page, s.readInto(ctx, page.Records[:count], after+1)
}

// readEmpty reads a log without records: a new one, or one that is all trimmed.
func (s *Store) readEmpty(ctx context.Context, after uint64) (store.Page, error) {
	state, err := s.logState(ctx)
	switch {
	case err != nil:
		return store.Page{}, err
	case state.Messages > 0: // appended since we looked
		return s.read(ctx, after, 1)
	}
	if err := s.believe(state.Last); err != nil {
		return store.Page{}, err
	}
	if after < state.Last {
		return store.Page{}, store.ErrTruncated
	}
	return store.Page{Head: state.Last}, nil
}

// readInto reads the records from an index on: many from any replica, in one request; those that it lacks from the leader, several requests at a time.
func (s *Store) readInto(ctx context.Context, records []store.Record, from uint64) error {
	if len(records) >= bulk {
		page, _, err := s.batch(ctx, s.names.log(), batchRequest{Seq: from, Next: s.names.logSubject(), Batch: len(records)})
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
				records[i], errs[worker] = s.record(ctx, from+uint64(i))
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

// record reads one record below the head. Indexes are the stream's sequences, which have no gaps: what is missing was trimmed, or is lost.
func (s *Store) record(ctx context.Context, index uint64) (store.Record, error) {
	m, err := s.fetch(ctx, s.names.log(), getRequest{Seq: index})
	if err == nil {
		return store.Record{Index: index, Data: m.data}, nil
	}
	if !errors.Is(err, errAbsent) {
		return store.Record{}, err
	}
	state, err := s.logState(ctx)
	switch {
	case err != nil:
		return store.Record{}, err
	case index < state.First:
		return store.Record{}, fmt.Errorf("trimmed up to %d: %w", state.First-1, store.ErrTruncated)
	}
	return store.Record{}, fmt.Errorf("%w: stream %s has no record %d, between %d and %d", ErrDamaged, s.names.log(), index, state.First, state.Last)
}

type streamState struct {
	Messages uint64 `json:"messages"`
	First    uint64 `json:"first_seq"`
	Last     uint64 `json:"last_seq"`
}

func (s *Store) logState(ctx context.Context) (streamState, error) {
	var out struct {
		State streamState `json:"state"`
	}
	err := s.api(ctx, "STREAM.INFO", s.names.log(), struct{}{}, &out, false)
	return out.State, readError(err)
}

// Trim implements store.Log. The stream continues to count from the last index.
func (s *Store) Trim(ctx context.Context, index uint64) (err error) {
	defer driver.Wrap(&err, "trim log to %d", index)
	if err := s.enterChange(ctx); err != nil {
		return err
	}
	_, p, err := s.pointer(ctx)
	if err != nil {
		return err
	}
	if index = min(index, p.Index); index == 0 {
		return nil
	}
	return s.purge(ctx, s.names.log(), purgeRequest{Seq: index + 1})
}

// purgeRequest removes the messages of a subject before a sequence.
type purgeRequest struct {
	Filter string `json:"filter,omitempty"`
	Seq    uint64 `json:"seq,omitempty"`
}
