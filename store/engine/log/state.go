package log

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

// ErrDamaged reports that a row of the log is missing, or is not what was written: another program removed or changed
// it.
var ErrDamaged = errors.New("the store is damaged")

// state is what the head holds. All its numbers only grow.
type state struct {
	size  uint64 // records of a page; it never changes
	base  uint64 // all records up to it are trimmed
	freed uint64 // pages up to it were freed
	cut   uint64 // records up to it are in pages, or trimmed; a multiple of size, or a seed
	first uint64 // the index behind which a seed made it begin; 0 if it began with a record
	seed  string // the name of that seed
	tail  []entry
}

// entry is a record. The first one that an append added has its name. A large one lies in a row of its own.
type entry struct {
	name string
	ref  string // the row where data is, from b/ on, or ""; then data is its seal
	data []byte
}

// page is a number of records behind an index.
type page struct {
	after   uint64
	entries []entry
}

// format is the first byte of what this code writes.
const format = 1

func (s state) encode() []byte {
	b := []byte{format}
	for _, n := range []uint64{s.size, s.base, s.freed, s.first} {
		b = binary.AppendUvarint(b, n)
	}
	b = appendBytes(b, []byte(s.seed))
	return page{s.cut, s.tail}.encode(b)
}

// encode adds a page, and the sum of all.
func (p page) encode(b []byte) []byte {
	b = binary.AppendUvarint(b, p.after)
	b = binary.AppendUvarint(b, uint64(len(p.entries)))
	for _, e := range p.entries {
		b = appendBytes(appendBytes(appendBytes(b, []byte(e.name)), []byte(e.ref)), e.data)
	}
	return binary.BigEndian.AppendUint32(b, sumOf(b))
}

func appendBytes(b, data []byte) []byte {
	return append(binary.AppendUvarint(b, uint64(len(data))), data...)
}

// sumOf is the CRC-32C, which hardware computes.
func sumOf(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

// decoder reads what was encoded.
type decoder struct {
	rest []byte
	bad  bool
}

func newDecoder(b []byte) *decoder {
	n := len(b) - crc32.Size
	if n < 0 || binary.BigEndian.Uint32(b[n:]) != sumOf(b[:n]) {
		return &decoder{bad: true}
	}
	return &decoder{rest: b[:n]}
}

func (d *decoder) number() uint64 {
	v, n := binary.Uvarint(d.rest)
	if n <= 0 {
		d.bad, d.rest = true, nil
		return 0
	}
	d.rest = d.rest[n:]
	return v
}

func (d *decoder) bytes() []byte {
	n := d.number()
	if n > uint64(len(d.rest)) {
		d.bad, d.rest = true, nil
		return nil
	}
	b := d.rest[:n:n]
	d.rest = d.rest[n:]
	return b
}

func (d *decoder) page() (p page) {
	p.after = d.number()
	for n := d.number(); n > 0 && !d.bad; n-- {
		p.entries = append(p.entries, entry{string(d.bytes()), string(d.bytes()), d.bytes()})
	}
	return p
}

func decodeState(b []byte) (state, error) {
	d := newDecoder(b)
	if !d.bad && (len(d.rest) == 0 || d.rest[0] != format) {
		return state{}, fmt.Errorf("head of the log: of another format: use the version of Rota that wrote it")
	}
	if !d.bad {
		d.rest = d.rest[1:]
	}
	s := state{size: d.number(), base: d.number(), freed: d.number(), first: d.number(), seed: string(d.bytes())}
	p := d.page()
	s.cut, s.tail = p.after, p.entries
	if d.bad || len(d.rest) > 0 || s.size == 0 || s.freed > s.base || s.base > s.end() {
		return state{}, fmt.Errorf("head of the log: not what was written: %w", ErrDamaged)
	}
	return s, nil
}

func decodePage(b []byte) (page, error) {
	d := newDecoder(b)
	p := d.page()
	if d.bad || len(d.rest) > 0 {
		return page{}, fmt.Errorf("page of the log: not what was written: %w", ErrDamaged)
	}
	return p, nil
}
