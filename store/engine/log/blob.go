package log

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/driver"
)

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
