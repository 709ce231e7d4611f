package drivermap

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sort"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/driver"
)

// Ordered is a handle on a [Map] that orders logs by itself.
type Ordered struct{ *Handle }

// OpenOrdered opens a handle.
func (m *Map) OpenOrdered() Ordered { return Ordered{m.Open()} }

var (
	_ driver.NamedJournals = Ordered{}
	_ driver.Journal       = (*journal)(nil)
)

// logs are those of a map: that of the store, and others by their names.
type logs struct {
	main  *records
	named map[string]*records
}

func newLogs() logs { return logs{&records{first: 1}, map[string]*records{}} }

// records are one log.
type records struct {
	all         []store.Record
	first, head uint64
	dropped     bool
	values      map[uint64][]byte
	put         uint64 // values that were put
}

// find is the place of the first record behind an index.
func (r *records) find(after uint64) int {
	return sort.Search(len(r.all), func(i int) bool { return r.all[i].Index > after })
}

// journal is a log as a handle sees it.
type journal struct {
	of      *Handle
	log     *records
	hintKey string // what a watch of it looks for; no row has such a key
}

// Journal implements driver.Journals.
func (o Ordered) Journal() driver.Journal { return &journal{o.Handle, o.m.logs.main, "\x00"} }

// OpenJournal implements driver.NamedJournals.
func (o Ordered) OpenJournal(ctx context.Context, name string, create bool) (driver.Journal, error) {
	return o.open(ctx, name, create)
}

func (o Ordered) open(ctx context.Context, name string, create bool) (*journal, error) {
	j := &journal{of: o.Handle, hintKey: "\x00" + name}
	err := o.do(ctx, func() error {
		if j.log = o.m.logs.named[name]; j.log != nil {
			return nil
		}
		if !create {
			return fmt.Errorf("log %q: %w", name, store.ErrNotFound)
		}
		j.log = &records{first: 1}
		o.m.logs.named[name] = j.log
		return nil
	})
	return j, err
}

// DropJournal implements driver.NamedJournals.
func (o Ordered) DropJournal(ctx context.Context, name string) error {
	return o.do(ctx, func() error {
		if log := o.m.logs.named[name]; log != nil {
			*log = records{dropped: true}
			delete(o.m.logs.named, name)
		}
		return nil
	})
}

// do runs a call on the log alone.
func (j *journal) do(ctx context.Context, call func(*records) error) error {
	return j.of.do(ctx, func() error {
		if j.log.dropped {
			return fmt.Errorf("the log was dropped: %w", store.ErrNotFound)
		}
		return call(j.log)
	})
}

// Append implements driver.Journal.
func (j *journal) Append(ctx context.Context, all [][]byte) (indexes []uint64, err error) {
	err = j.do(ctx, func(log *records) error {
		m := j.of.m
		large := func(r []byte) bool { return len(r) > m.Most.Value }
		if len(all) > m.Most.Batch || slices.ContainsFunc(all, large) {
			return fmt.Errorf("%d records: %w", len(all), store.ErrTooLarge)
		}
		for _, data := range all {
			if m.Gaps {
				log.head += log.head % 2
			}
			log.head++
			log.all = append(log.all, store.Record{Index: log.head, Data: bytes.Clone(data)})
			indexes = append(indexes, log.head)
		}
		m.tell(j.hintKey)
		return nil
	})
	return indexes, err
}

// Read implements driver.Journal.
func (j *journal) Read(ctx context.Context, after uint64, n int) (all []store.Record, first, head uint64, err error) {
	err = j.do(ctx, func(log *records) error {
		first, head = log.first, log.head
		rest := log.all[log.find(after):]
		for _, r := range rest[:min(n, len(rest))] {
			all = append(all, store.Record{Index: r.Index, Data: bytes.Clone(r.Data)})
		}
		return nil
	})
	return all, first, head, err
}

// Free implements driver.Journal.
func (j *journal) Free(ctx context.Context, upTo uint64) error {
	return j.do(ctx, func(log *records) error {
		log.all = slices.Clone(log.all[log.find(upTo):]) // so that the freed part is really free
		log.first = max(log.first, upTo+1)
		return nil
	})
}

// Start implements driver.Journal.
func (j *journal) Start(ctx context.Context, index uint64) error {
	return j.do(ctx, func(log *records) error {
		if log.head > 0 && (log.head != index || len(log.all) > 0) {
			return fmt.Errorf("the log ends at %d: %w", log.head, store.ErrConflict)
		}
		log.first, log.head = index+1, index
		return nil
	})
}

// Watch implements driver.Journal.
func (j *journal) Watch(ctx context.Context, hint func()) error {
	return j.of.Watch(ctx, j.hintKey, hint)
}
