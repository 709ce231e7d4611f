package logqueue

import (
	"encoding/binary"
	"errors"
)

// format begins each record and each snapshot. What begins with another byte is none of ours.
const format = 2

var (
	errMalformed = errors.New("it is not a record of a queue")
	errFormer    = errors.New("the flow was written by an earlier version: remove its job, and submit it again")
)

// coder writes fields behind data, or reads them from it: one function names the fields of a type for both. After the
// first fault each read gives zero.
type coder struct {
	data    []byte
	reading bool
	bad     bool
	former  bool // of an earlier format
}

func newReader(data []byte) *coder {
	if len(data) == 0 || data[0] != format {
		return &coder{reading: true, bad: true, former: len(data) > 0 && data[0] == format-1}
	}
	return &coder{reading: true, data: data[1:]}
}

func newWriter() *coder { return &coder{data: []byte{format}} }

// end is the fault of a read that must have met all data.
func (x *coder) end() error {
	if x.former {
		return errFormer
	}
	if x.bad || len(x.data) > 0 {
		return errMalformed
	}
	return nil
}

func (x *coder) uint(v *uint64) {
	if !x.reading {
		x.data = binary.AppendUvarint(x.data, *v)
		return
	}
	u, n := binary.Uvarint(x.data)
	if n <= 0 || x.bad {
		*v, x.bad, x.data = 0, true, nil
		return
	}
	*v, x.data = u, x.data[n:]
}

func (x *coder) int(v *int) {
	u := uint64(max(*v, 0)) //nolint:gosec // a count
	x.uint(&u)
	if x.reading {
		*v = int(u & (1<<62 - 1)) //nolint:gosec // bounded
	}
}

func (x *coder) bool(v *bool) {
	var u uint64
	if *v {
		u = 1
	}
	x.uint(&u)
	*v = u == 1
}

func (x *coder) bytes(v *[]byte) {
	n := uint64(len(*v))
	x.uint(&n)
	switch {
	case !x.reading:
		x.data = append(x.data, *v...)
	case n > uint64(len(x.data)):
		*v, x.bad, x.data = nil, true, nil
	default:
		*v, x.data = append([]byte(nil), x.data[:n]...), x.data[n:]
	}
}

func (x *coder) text(v *string) {
	b := []byte(*v)
	x.bytes(&b)
	*v = string(b)
}

// list codes a list whose elements have a byte at least.
func list[T any](x *coder, v *[]T, each func(*T)) {
	n := uint64(len(*v))
	x.uint(&n)
	if x.reading {
		if n > uint64(len(x.data)) {
			x.bad, x.data, n = true, nil, 0
		}
		*v = make([]T, n)
	}
	for i := range *v {
		each(&(*v)[i])
	}
}
