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

// Ordered is a handle on a [Map] that orders logs by itself. Their indexes have gaps.
type Ordered struct {
	*Handle
	seen map[string]uint64 // the newest head of each log
}

// OpenOrdered opens a handle.
func (m *Map) OpenOrdered() *Ordered { return &Ordered{m.Open(), map[string]uint64{}} }

// Limits implements driver.Driver.
func (o *Ordered) Limits() driver.Limits {
	most := o.Handle.Limits()
	most.With, most.Batch = 0, 16
	return most
}

// Journal implements driver.Journals.
func (o *Ordered) Journal(name string) driver.Journal { return ordered{o, name} }

// ordered is a log of a handle.
type ordered struct {
	of   *Ordered
	name string
}

// logs are the logs of a map.
type logs struct {
	now     map[string]*journal
	deposed map[string]*journal // what reads are answered with; nil: now
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
		m.logs.deposed = map[string]*journal{}
		for name, log := range m.logs.now { // order-free: each is copied
			then := *log
			m.logs.deposed[name] = &then
		}
	}
}

// do runs a call on the log alone.
func (j ordered) do(ctx context.Context, call func(*journal) error) error {
	return j.of.do(ctx, func() error {
		log := j.of.m.logs.now[j.name]
		if log == nil {
			log = &journal{first: 1}
			j.of.m.logs.now[j.name] = log
		}
		return call(log)
	})
}

// hintKey is what a watch of the log looks for. No row has such a key.
func (j ordered) hintKey() string { return "\x00" + j.name }

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
		j.of.seen[j.name] = log.head
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
			log = old[j.name]
		}
		if seen := j.of.seen[j.name]; log.head < seen {
			return fmt.Errorf("the log ends at %d and has ended at %d: %w", log.head, seen, store.ErrUnavailable)
		}
		first, head, j.of.seen[j.name] = log.first, log.head, log.head
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
