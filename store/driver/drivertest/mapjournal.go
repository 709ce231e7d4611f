package drivertest

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/driver"
)

// Ordered is a handle on a [Map] that orders its log by itself. Indexes have gaps.
type Ordered struct {
	*Handle
	seen uint64 // the newest head
}

// OpenOrdered opens a handle.
func (m *Map) OpenOrdered() *Ordered { return &Ordered{Handle: m.Open()} }

// Limits implements driver.Driver.
func (o *Ordered) Limits() driver.Limits {
	most := o.Handle.Limits()
	most.With, most.Batch = 0, 16
	return most
}

// Journal implements driver.Journals.
func (o *Ordered) Journal() driver.Journal { return ordered{o} }

// ordered is the log of a handle.
type ordered struct{ of *Ordered }

// logs are the log of a map.
type logs struct {
	now     journal
	deposed *journal // what reads are answered with; nil: now
}

// journal is a log of a map.
type journal struct {
	records     []store.Record
	first, head uint64
}

// Depose makes reads of journals be answered as of now, or by what is there again.
func (m *Map) Depose(on bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.logs.deposed = nil
	if on {
		then := m.logs.now
		m.logs.deposed = &then
	}
}

// do runs a call on the log alone.
func (j ordered) do(ctx context.Context, call func(*journal) error) error {
	return j.of.do(ctx, func() error {
		return call(&j.of.m.logs.now)
	})
}

// hintKey is what a watch of the log looks for. No row has such a key.
func (j ordered) hintKey() string { return "\x00" }

// Append implements driver.Journal.
func (j ordered) Append(ctx context.Context, records [][]byte) (indexes []uint64, err error) {
	err = j.do(ctx, func(log *journal) error {
		most := j.of.Limits()
		large := func(r []byte) bool { return len(r) > most.Value }
		if len(records) > most.Batch || slices.ContainsFunc(records, large) {
			return fmt.Errorf("%d records: %w", len(records), store.ErrTooLarge)
		}
		for _, data := range records {
			log.head += 1 + log.head%2
			log.records = append(log.records, store.Record{Index: log.head, Data: bytes.Clone(data)})
			indexes = append(indexes, log.head)
		}
		j.of.seen = log.head
		j.of.m.tell(j.hintKey())
		return nil
	})
	return indexes, err
}

// Read implements driver.Journal.
func (j ordered) Read(
	ctx context.Context, after uint64, n int,
) (records []store.Record, first, head uint64, err error) {
	err = j.do(ctx, func(log *journal) error {
		if old := j.of.m.logs.deposed; old != nil {
			log = old
		}
		if seen := j.of.seen; log.head < seen {
			return fmt.Errorf("the log ends at %d and has ended at %d: %w", log.head, seen, store.ErrUnavailable)
		}
		first, head, j.of.seen = log.first, log.head, log.head
		for _, r := range log.records {
			if r.Index > after && len(records) < n {
				records = append(records, store.Record{Index: r.Index, Data: bytes.Clone(r.Data)})
			}
		}
		return nil
	})
	return records, first, head, err
}

// Free implements driver.Journal.
func (j ordered) Free(ctx context.Context, upTo uint64) error {
	return j.do(ctx, func(log *journal) error {
		for len(log.records) > 0 && log.records[0].Index <= upTo {
			log.records = log.records[1:]
		}
		log.first = max(log.first, upTo+1)
		return nil
	})
}

// Start implements driver.Journal.
func (j ordered) Start(ctx context.Context, index uint64) error {
	return j.do(ctx, func(log *journal) error {
		if log.head > 0 && (log.head != index || len(log.records) > 0) {
			return fmt.Errorf("the log ends at %d: %w", log.head, store.ErrConflict)
		}
		log.first, log.head = index+1, index
		return nil
	})
}

// Watch implements driver.Journal.
func (j ordered) Watch(ctx context.Context, hint func()) error {
	return j.of.Handle.Watch(ctx, j.hintKey(), hint)
}

// tell hints that a key has changed.
func (m *Map) tell(key string) {
	for hint, prefix := range m.hints { // order-free: each gets its own hint
		if strings.HasPrefix(key, prefix) {
			(*hint)()
		}
	}
}
