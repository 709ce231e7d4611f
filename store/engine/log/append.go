package log

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/driver"
	"github.com/rota-run/rota/store/engine"
)

// appendAll appends records, at most l.batch, all or none, at the indexes that it returns.
func (l *Log) appendAll(ctx context.Context, records [][]byte) (indexes []uint64, err error) {
	if l.order != nil {
		indexes, err = l.order.Append(ctx, records)
	} else {
		indexes, err = l.appendRows(ctx, records)
	}
	if err != nil {
		return nil, told(ctx, err, "append")
	}
	return indexes, nil
}

// AppendWith appends a record, and creates rows with it that it names. What is light need not survive a power cut that
// no later record survives.
func (l *Log) AppendWith(ctx context.Context, record []byte, light bool, with []driver.Op) (uint64, error) {
	order, ok := l.order.(driver.JournalWith)
	if !ok {
		if err := l.rows.Data(ctx, with); err != nil {
			return 0, told(ctx, err, "append")
		}
		return l.Append(ctx, record)
	}
	if err := l.refuse(record); err != nil {
		return 0, err
	}
	index, err := order.AppendWith(ctx, record, light, with)
	if err != nil {
		return 0, told(ctx, err, "append")
	}
	return index, nil
}

// appendRows appends records to the rows, where indexes are dense.
func (l *Log) appendRows(ctx context.Context, records [][]byte) (indexes []uint64, err error) {
	first, err := l.append(ctx, records)
	for i := range records {
		indexes = append(indexes, first+uint64(i)) //nolint:gosec // i is not negative
	}
	return indexes, err
}

// MaxRecord is the largest record.
func (l *Log) MaxRecord() int { return engine.MaxValue(l.rows.Limits()) }

// refuse refuses a record that is too large.
func (l *Log) refuse(data []byte) error {
	if most := l.MaxRecord(); len(data) > most {
		return fmt.Errorf("append %d bytes, at most %d: %w", len(data), most, store.ErrTooLarge)
	}
	return nil
}

func (l *Log) append(ctx context.Context, records [][]byte) (uint64, error) {
	row, _, _ := l.remembered()
	b, c := batch{records: records}, contest{}
	for {
		var s state
		var err error
		if row.Version == "" {
			row, s, err = l.head(ctx)
		} else {
			s, err = l.learn(row)
		}
		if err != nil {
			return 0, err
		}
		for _, p := range s.full() {
			if err := l.rows.Once(ctx, l.pageKey(s.pageEnd(p.after+1)), p.encode(nil)); err != nil {
				return 0, err
			}
		}
		name, index := l.rows.NewName(), s.end()+1
		if err := l.lay(ctx, &b, index); err != nil {
			return 0, err
		}
		began := time.Now()
		next, pages := s.without().added(name, b.entries)
		err = l.swap(ctx, row, next, name, l.pages(pages)...)
		took := time.Since(began)
		done, err := l.outcome(ctx, err, index, name)
		if done || err != nil {
			return index, err
		}
		if err := l.pause(ctx, c.lose(took, sumOf([]byte(name)))); err != nil {
			return 0, err // it will never be done
		}
		row = driver.Row{} // others went on meanwhile
	}
}

// pages are the writes of pages that go with a swap. Nobody looks for them by a name: their records have it.
func (l *Log) pages(pages []page) (ops []driver.Op) {
	for _, p := range pages {
		key := l.pageKey(p.after + uint64(len(p.entries)))
		ops = append(ops, driver.Op{Key: key, Value: p.encode(nil), Once: true})
	}
	return ops
}

// outcome says what an append came to whose swap returned err: done, or an error, or neither: then it will never be
// done, and may be tried again.
func (l *Log) outcome(ctx context.Context, err error, index uint64, name string) (done bool, _ error) {
	var d *engine.Doubt
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, store.ErrConflict):
		return false, nil
	case !errors.As(err, &d) || d.Row == nil:
		return false, err
	}
	s, failed := l.learn(*d.Row)
	if failed != nil {
		return false, errors.Join(err, failed)
	}
	who := s.whose(index, name)
	if who != inPage {
		return who == ours, nil
	}
	row, failed := l.rows.Get(ctx, l.pageKey(s.pageEnd(index)))
	if failed != nil {
		return false, errors.Join(err, failed)
	}
	if row.Version == "" {
		return false, err // it was trimmed, and freed
	}
	p, failed := decodePage(row.Value)
	if failed != nil {
		return false, errors.Join(err, failed)
	}
	return p.has(index, name), nil
}

// wait waits, unless ctx ends before.
func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// maxInline is the largest record that lies in the head and in a page; a larger one is a blob, a row of its own.
const maxInline = 4 << 10

// blobReach is how many indexes behind its hint a blob may be used: the index of the log when it was written. So a blob
// whose hint lies that far below base, or further, belongs to no record that is there, and never will: it can be freed
// without a look at the records.
const blobReach = 64

// One read brings so many blobs, and about so many bytes of them.
const (
	blobsAtOnce = 16
	blobBytes   = 4 << 20
)

func (l *Log) blobKey(ref string) string { return l.key("b/" + ref) }

// batch are the records of one append, and their entries.
type batch struct {
	records [][]byte
	entries []entry
	hint    uint64
}

// lay writes the blobs of a batch that is to stand at an index, unless they are there and reach so far.
func (l *Log) lay(ctx context.Context, b *batch, index uint64) error {
	if b.entries != nil && index+uint64(len(b.records))-1 <= b.hint+l.reach {
		return nil
	}
	b.entries, b.hint = nil, index-1
	for _, data := range b.records {
		e := entry{data: data}
		if len(data) > l.inline {
			e = entry{ref: fmt.Sprintf("%020d-%s", b.hint, l.rows.NewName()), data: sealOf(data)}
			if err := l.rows.Once(ctx, l.blobKey(e.ref), data); err != nil {
				return err
			}
		}
		b.entries = append(b.entries, e)
	}
	return nil
}

// sealOf is what an entry has of a blob: its sum, and how large it is.
func sealOf(b []byte) []byte {
	return binary.AppendUvarint(binary.BigEndian.AppendUint32(nil, sumOf(b)), uint64(len(b)))
}

// sizeOf is how large a blob is, by its entry.
func sizeOf(seal []byte) int {
	n, _ := binary.Uvarint(seal[min(len(seal), 4):])
	return int(min(n, blobBytes)) //nolint:gosec // small
}

// records are what was found, with the data of blobs. It may be fewer, but not none.
func (l *Log) records(ctx context.Context, all []found) (out []store.Record, err error) {
	var q driver.Query
	size := 0
	for i, f := range all {
		if f.ref == "" {
			continue
		}
		size += sizeOf(f.data)
		if n := len(q.Keys); n == blobsAtOnce || n > 0 && size > blobBytes {
			all = all[:i]
			break
		}
		q.Keys = append(q.Keys, l.blobKey(f.ref))
	}
	var rows driver.Rows
	if len(q.Keys) > 0 {
		q.Keys = append(q.Keys, l.headKey()) // last, so that it says why one is missing
		if rows, err = l.rows.Read(ctx, q); err != nil {
			return nil, err
		}
	}
	for _, f := range all {
		r := store.Record{Index: f.index, Data: append([]byte{}, f.data...)}
		if f.ref != "" {
			row := rows.Keys[0]
			rows.Keys, r.Data = rows.Keys[1:], row.Value
			if row.Version == "" || !bytes.Equal(sealOf(row.Value), f.data) {
				return nil, l.lost(rows.Keys[len(rows.Keys)-1], f)
			}
		}
		out = append(out, r)
	}
	return out, nil
}

// lost is why a blob is missing: it was trimmed, says the head that was read behind it, or the log is damaged.
func (l *Log) lost(head driver.Row, f found) error {
	s, err := l.learn(head)
	if err == nil && f.index <= s.base {
		return fmt.Errorf("trimmed up to %d: %w", s.base, store.ErrTruncated)
	}
	return fmt.Errorf("record %d is missing: %w", f.index, ErrDamaged)
}
