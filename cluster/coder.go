package cluster

import (
	"encoding/binary"
	"fmt"
	"unicode/utf8"
)

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
	return fmt.Sprintf("%s is of format %d, written by %s Rota; this one reads format %d alone; try: %s", what,
		e.Format, wrote, Format, try)
}

// Entry is an entry of that format: who decodes it gets this error. It is for logs whose records have an encoding of
// their own.
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

// coder writes the fields of a record behind data, or reads them from it: the code functions, which name each field
// once, serve both. What is written is not changed. The encoding is compact and canonical: one value has one encoding,
// and what is read in any other is refused. Integers are varints of minimal length, strings and lists have their length
// in front. After the first fault every read gives zero and err stays.
type coder struct {
	data    []byte
	reading bool
	off     int // read so far
	index   Index
	err     error
	shared  *shared // of a snapshot
}

func appendUvarint[T ~uint64 | ~uint32](b []byte, u T) []byte {
	return binary.AppendUvarint(b, uint64(u))
}

func codeUint[T ~uint64](x *coder, v *T) {
	if x.reading {
		*v = T(x.uvarint())
		return
	}
	x.put(uint64(*v))
}

// put writes a number; most are small.
func (x *coder) put(u uint64) {
	if u < 0x80 {
		x.data = append(x.data, byte(u))
		return
	}
	x.data = binary.AppendUvarint(x.data, u)
}

// appendSize is for lengths: most are small.
func appendSize(b []byte, n int) []byte {
	if n < 0x80 {
		return append(b, byte(n))
	}
	return binary.AppendUvarint(b, uint64(n))
}

func codeInt(x *coder, v *int64) {
	if x.reading {
		u := x.uvarint()
		*v = int64(u>>1) ^ -int64(u&1)
		return
	}
	x.put(uint64(*v<<1) ^ uint64(*v>>63))
}

func codeText[T ~string](x *coder, v *T) {
	if x.reading {
		*v = T(x.string())
		return
	}
	x.data = append(appendSize(x.data, len(*v)), *v...)
}

// codeBlob codes bytes that are kept.
func codeBlob(x *coder, v *[]byte) {
	switch {
	case !x.reading:
		x.data = append(appendSize(x.data, len(*v)), *v...)
	case x.shared != nil:
		*v = x.shared.blob(x.bytes())
	default:
		*v = x.bytes()
	}
}

func codeBool(x *coder, v *bool) {
	if x.reading {
		b := x.byte()
		if *v = b == 1; b > 1 {
			x.fail("neither yes nor no")
		}
		return
	}
	b := byte(0)
	if *v {
		b = 1
	}
	x.data = append(x.data, b)
}

// codeFlags codes some that are often all false in one byte, the first one in its lowest bit.
func codeFlags(x *coder, flags ...*bool) {
	var b byte
	for i, f := range flags {
		if *f && !x.reading {
			b |= 1 << i
		}
	}
	codeEnum(x, &b, 1<<len(flags)-1)
	if x.reading {
		for i, f := range flags {
			*f = b&(1<<i) != 0
		}
	}
}

// codeEnum codes a choice of at most top.
func codeEnum[T ~uint8](x *coder, v *T, top T) { codeState(x, v, top, 0, 0) }

// codeState codes a choice of at most top and, in the bits of all, flags beside it; it returns the flags.
func codeState[T ~uint8](x *coder, v *T, top T, flags, all byte) byte {
	if !x.reading {
		x.data = append(x.data, byte(*v)|flags)
		return flags
	}
	b := x.byte()
	if b&^all > byte(top) {
		x.fail("an unknown choice")
		b = 0
	}
	*v = T(b &^ all)
	return b & all
}

func codeList[T any](x *coder, v *[]T, item func(*coder, *T)) {
	if !x.reading {
		x.data = appendSize(x.data, len(*v))
		for i := range *v {
			item(x, &(*v)[i])
		}
		return
	}
	var list []T
	n := x.count()
	if n > 0 {
		list = make([]T, 0, min(n, 1024))
	}
	for i := range n {
		list = append(list, *new(T))
		if item(x, &list[i]); x.err != nil {
			return
		}
	}
	*v = list
}

func (x *coder) fail(reason string) {
	if x.err == nil {
		x.err = &CorruptError{Index: x.index, Offset: x.off, Reason: reason}
	}
}

// must refuses what was read and no record says; what is written is right.
func (x *coder) must(ok bool, reason string) {
	if x.reading && !ok {
		x.fail(reason)
	}
}

// end is the error of what was read, which must be all there is.
func (x *coder) end() error {
	x.must(x.off == len(x.data), "bytes behind its end")
	return x.err
}

func (x *coder) uvarint() uint64 {
	if x.err == nil && x.off < len(x.data) && x.data[x.off] < 0x80 {
		x.off++
		return uint64(x.data[x.off-1])
	}
	return x.longUvarint()
}

func (x *coder) longUvarint() uint64 {
	if x.err != nil {
		return 0
	}
	u, n := binary.Uvarint(x.data[x.off:])
	if n <= 0 || n > 1 && x.data[x.off+n-1] == 0 {
		x.fail("not a minimal number")
		return 0
	}
	x.off += n
	return u
}

func (x *coder) byte() byte {
	if x.err == nil && x.off >= len(x.data) {
		x.fail("it ends too early")
	}
	if x.err != nil {
		return 0
	}
	x.off++
	return x.data[x.off-1]
}

func (x *coder) bytes() []byte {
	n := x.uvarint()
	if x.err == nil && n > uint64(len(x.data)-x.off) {
		x.fail("a length beyond its end")
	}
	if x.err != nil || n == 0 {
		return nil
	}
	x.off += int(n)
	return x.data[x.off-int(n) : x.off : x.off]
}

func (x *coder) string() string {
	b := x.bytes()
	if x.shared != nil {
		return x.shared.string(x, b)
	}
	if !utf8.Valid(b) {
		x.fail("text that is not UTF-8")
	}
	return string(b)
}

// count reads the length of a list whose items take at least a byte each, so that a wrong one cannot ask for much
// memory.
func (x *coder) count() int {
	n := x.uvarint()
	if x.err == nil && n > uint64(len(x.data)-x.off) {
		x.fail("a list longer than its bytes")
	}
	if x.err != nil {
		return 0
	}
	return int(n)
}

// peekCount is the count that is read next.
func (x *coder) peekCount() int {
	ahead := *x
	return ahead.count()
}
