package adversary

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/driver"
)

// orderly is a player as a driver that orders logs by itself. There is one log, of any name.
type orderly struct{ *Player }

// Limits implements driver.Driver.
func (o orderly) Limits() driver.Limits {
	most := o.Player.Limits()
	most.Batch = 8
	return most
}

// Journal implements driver.Journals.
func (o orderly) Journal() driver.Journal {
	if o.values {
		return keeper{player{o.Player}}
	}
	return player{o.Player}
}

// player is a player as a journal.
type player struct{ p *Player }

// Append implements driver.Journal.
func (j player) Append(_ context.Context, records [][]byte) ([]uint64, error) {
	a := j.p.ask(request{kind: appends, records: slices.Clone(records)})
	return a.indexes, a.err
}

// Read implements driver.Journal.
func (j player) Read(_ context.Context, after uint64, n int) ([]store.Record, uint64, uint64, error) {
	a := j.p.ask(request{kind: looks, index: after, n: n})
	return a.records, a.first, a.head, a.err
}

// Free implements driver.Journal.
func (j player) Free(_ context.Context, upTo uint64) error {
	return j.p.ask(request{kind: frees, index: upTo}).err
}

// Start implements driver.Journal.
func (j player) Start(_ context.Context, index uint64) error {
	return j.p.ask(request{kind: starts, index: index}).err
}

// Watch implements driver.Journal.
func (j player) Watch(context.Context, func()) error { return errors.ErrUnsupported }

// keeper is a player as a journal that keeps values beside its records.
type keeper struct{ player }

// PutValues implements driver.JournalValues.
func (k keeper) PutValues(_ context.Context, values [][]byte) (at []string, err error) {
	a := k.p.ask(request{kind: puts, records: slices.Clone(values)})
	for _, place := range a.indexes {
		at = append(at, strconv.FormatUint(place, 10))
	}
	if errors.Is(a.err, store.ErrUnknown) {
		a.err = store.ErrUnavailable // nothing names them
	}
	return at, a.err
}

// Values implements driver.JournalValues.
func (k keeper) Values(_ context.Context, at []string) ([][]byte, error) {
	a := k.p.ask(request{kind: gets, keys: at})
	out := make([][]byte, len(at))
	for i, r := range a.records {
		out[i] = r.Data
	}
	return out, a.err
}

// FreeValues implements driver.JournalValues.
func (k keeper) FreeValues(_ context.Context, before string) error {
	index, _ := strconv.ParseUint(before, 10, 64) // as PutValues gave it
	return k.p.ask(request{kind: drops, index: index}).err
}

// The requests to a journal.
const (
	appends = "append"
	looks   = "look"
	frees   = "free up to"
	starts  = "start"
	puts    = "put"
	gets    = "get"
	drops   = "drop before"
)

// asks reports whether a request can change nothing.
func (r request) asks() bool { return r.kind == "read" || r.kind == looks || r.kind == gets }

// log is the contents of a journal. It is never changed, but copied.
type log struct {
	base, head uint64
	records    []store.Record
	put        uint64         // values
	values     []store.Record // that were not freed
}

// Values are those that a journal keeps.
func (s Rows) Values() (all []store.Record) { return s.log.values }

// Log are the records of the journal, and the index behind which they begin.
func (s Rows) Log() (records []store.Record, base uint64) { return s.log.records, s.log.base }

// RecordKey is what the key of an op begins with that tells a judge of a record; its index follows. A delete tells
// where the log begins.
const RecordKey = "journal "

// executeLog executes a request to the journal. A judge is told of it as if it were a write of rows.
func (s Rows) executeLog(r request) (Rows, answer, []driver.Op) {
	l, next := s.log, s
	switch r.kind {
	case looks:
		a := answer{first: l.base + 1, head: l.head}
		for _, record := range l.records {
			if record.Index > r.index && len(a.records) < r.n {
				a.records = append(a.records, record)
			}
		}
		return s, a, nil
	case gets:
		a := answer{records: make([]store.Record, len(r.keys))}
		for i, place := range r.keys {
			for _, v := range l.values {
				if strconv.FormatUint(v.Index, 10) == place {
					a.records[i] = v
				}
			}
		}
		return s, a, nil
	case puts:
		var a answer
		next.log.values = slices.Clip(l.values)
		for _, data := range r.records {
			next.log.put++
			a.indexes = append(a.indexes, next.log.put)
			next.log.values = append(next.log.values, store.Record{Index: next.log.put, Data: data})
		}
		return next.written(), a, nil
	case drops:
		next.log.values = slices.DeleteFunc(slices.Clone(l.values),
			func(v store.Record) bool { return v.Index < r.index })
		return next.written(), answer{}, nil
	case frees:
		next.log.base = max(l.base, r.index)
		next.log.records = slices.DeleteFunc(slices.Clone(l.records),
			func(x store.Record) bool { return x.Index <= r.index })
		return next.written(), answer{}, nil
	case starts:
		switch {
		case l.head == r.index && len(l.records) == 0:
			return s, answer{}, nil
		case l.head > 0:
			return s, answer{err: errConflict}, nil
		}
		next.log = log{base: r.index, head: r.index}
		return next.written(), answer{}, []driver.Op{{Key: fmt.Sprint(RecordKey, r.index), Delete: true}}
	}
	var a answer
	var ops []driver.Op
	next.log.records = slices.Clip(l.records)
	for _, data := range r.records {
		next.log.head++
		a.indexes = append(a.indexes, next.log.head)
		next.log.records = append(next.log.records, store.Record{Index: next.log.head, Data: data})
		ops = append(ops, driver.Op{Key: fmt.Sprint(RecordKey, next.log.head), Value: data})
	}
	return next.written(), a, ops
}
