package cluster

import (
	"encoding/binary"
	"fmt"
	"unicode/utf8"
)

// The encoding is compact and canonical: one value has one encoding, and the decoder refuses any other. Integers are
// varints of minimal length, strings and lists have their length in front.

// FormatError reports that bytes are of another format than [Format]: a member that meets it stops applying.
type FormatError struct {
	Index  Index // of the entry; 0 for a snapshot
	Format uint32
}

// Error names the remedy.
func (e *FormatError) Error() string {
	what := "the snapshot"
	if e.Index != 0 {
		what = "entry " + e.Index.String()
	}
	wrote, try := "an older", "an empty place, and submit the jobs again; or the Rota that wrote this one"
	if e.Format > Format {
		wrote, try = "a newer", "upgrade this Rota"
	}
	return fmt.Sprintf("%s is of format %d, written by %s Rota; this one reads format %d alone; try: %s", what, e.Format, wrote, Format, try)
}

// Entry is an entry of that format: who decodes it gets this error. It is for logs whose records have an encoding of their own.
func (e *FormatError) Entry() []byte { return appendUvarint([]byte{entryMagic}, e.Format) }

// CorruptError reports bytes that Rota cannot have written.
type CorruptError struct {
	Index  Index // of the entry; 0 for a snapshot
	Offset int
	Reason string
}

// Error returns place and reason.
func (e *CorruptError) Error() string {
	what := "snapshot"
	if e.Index != 0 {
		what = "entry " + e.Index.String()
	}
	return fmt.Sprintf("%s, byte %d: %s", what, e.Offset, e.Reason)
}

func appendUvarint[T ~uint64 | ~uint32](b []byte, u T) []byte {
	return binary.AppendUvarint(b, uint64(u))
}

func appendVarint(b []byte, i int64) []byte { return binary.AppendVarint(b, i) }

func appendString[T ~string | ~[]byte](b []byte, s T) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func appendBool(b []byte, v bool) []byte {
	if v {
		return append(b, 1)
	}
	return append(b, 0)
}

func appendList[T any](b []byte, list []T, item func([]byte, T) []byte) []byte {
	b = binary.AppendUvarint(b, uint64(len(list)))
	for _, x := range list {
		b = item(b, x)
	}
	return b
}

// decoder reads what the append functions wrote. After the first fault every read gives zero and err stays.
type decoder struct {
	index  Index
	data   []byte
	off    int
	err    error
	shared *shared // of a snapshot
}

func (r *decoder) fail(reason string) {
	if r.err == nil {
		r.err = &CorruptError{Index: r.index, Offset: r.off, Reason: reason}
	}
}

func (r *decoder) uvarint() uint64 {
	if r.err != nil {
		return 0
	}
	u, n := binary.Uvarint(r.data[r.off:])
	if n <= 0 || n > 1 && r.data[r.off+n-1] == 0 {
		r.fail("not a minimal number")
		return 0
	}
	r.off += n
	return u
}

func (r *decoder) varint() int64 {
	u := r.uvarint()
	i := int64(u >> 1)
	if u&1 != 0 {
		i = ^i
	}
	return i
}

func (r *decoder) byte() byte {
	if r.err == nil && r.off >= len(r.data) {
		r.fail("it ends too early")
	}
	if r.err != nil {
		return 0
	}
	r.off++
	return r.data[r.off-1]
}

func (r *decoder) bool() bool {
	switch b := r.byte(); b {
	case 0, 1:
		return b == 1
	}
	r.fail("neither yes nor no")
	return false
}

// enum reads one byte of at most top.
func (r *decoder) enum(top byte) byte {
	b := r.byte()
	if b > top {
		r.fail("an unknown choice")
		return 0
	}
	return b
}

func (r *decoder) bytes() []byte {
	n := r.uvarint()
	if r.err == nil && n > uint64(len(r.data)-r.off) {
		r.fail("a length beyond its end")
	}
	if r.err != nil || n == 0 {
		return nil
	}
	r.off += int(n)
	return r.data[r.off-int(n) : r.off : r.off]
}

func (r *decoder) string() string {
	b := r.bytes()
	if r.shared != nil {
		return r.shared.string(r, b)
	}
	if !utf8.Valid(b) {
		r.fail("text that is not UTF-8")
	}
	return string(b)
}

// blob reads bytes that are kept.
func (r *decoder) blob() []byte {
	if r.shared != nil {
		return r.shared.blob(r.bytes())
	}
	return r.bytes()
}

// count reads the length of a list whose items take at least a byte each, so that a wrong one cannot ask for much memory.
func (r *decoder) count() int {
	n := r.uvarint()
	if r.err == nil && n > uint64(len(r.data)-r.off) {
		r.fail("a list longer than its bytes")
	}
	if r.err != nil {
		return 0
	}
	return int(n)
}

// peekCount is the count that is read next.
func (r *decoder) peekCount() int {
	ahead := *r
	return ahead.count()
}

func decodeList[T any](r *decoder, item func(*decoder) T) []T {
	n := r.count()
	if n == 0 {
		return nil
	}
	list := make([]T, 0, min(n, 1024))
	for range n {
		list = append(list, item(r))
		if r.err != nil {
			return nil
		}
	}
	return list
}
