package logqueue

import (
	"context"
	"encoding/binary"
	"errors"
	"strconv"
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
	if x.reading {
		*v = u == 1
	}
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
	if x.reading {
		*v = string(b)
	}
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

const (
	// bundleBytes is with how many bytes a bundle takes no further data. A store takes a few large values sooner than
	// many small ones.
	bundleBytes = 256 << 10
	// spentMost is how many bundles may wait to be freed together.
	spentMost = 16
	// shelfBytes is how many bytes of bundles a handle keeps: who reads a bundle in parts, or has written it himself,
	// need not ask for it again.
	shelfBytes = 8 << 20
)

// bundler puts data of a commit together, those of one shard: they are mostly received together, too.
type bundler struct {
	most int // bytes of one
	left int // bytes that are still to come
	all  [][]byte
	last map[int]int // of each shard, in all
}

// add notes in an output where its data are going to be: At is a number until the bundle is stored.
func (b *bundler) add(o *output, data []byte) {
	if b.last == nil {
		b.last = make(map[int]int)
	}
	i, ok := b.last[o.Shard]
	if !ok || len(b.all[i])+len(data) > b.most {
		i = len(b.all)
		b.all = append(b.all, make([]byte, 0, max(len(data), min(b.left, b.most))))
		b.last[o.Shard] = i
	}
	o.At, o.From, o.Size = strconv.Itoa(i), len(b.all[i]), len(data)
	b.all[i] = append(b.all[i], data...)
	b.left -= len(data)
}

// bundled notes in the outputs of units where their bundles are.
func (f *flow) bundled(units []unit, bundles [][]byte, at []string) {
	for i, b := range bundles {
		f.shelf.keep(at[i], b)
	}
	for i := range units {
		for k := range units[i].Outputs {
			if o := &units[i].Outputs[k]; o.At != "" {
				n, _ := strconv.Atoi(o.At) // as it was noted
				o.At = at[n]
			}
		}
	}
}

// get reads the bundles of outputs; nil for those that are gone.
func (f *flow) get(ctx context.Context, outputs []output) (map[string][]byte, error) {
	all := make(map[string][]byte)
	var missing []string
	for _, o := range outputs {
		if _, asked := all[o.At]; o.At == "" || asked {
			continue
		}
		if all[o.At] = f.shelf.get(o.At); all[o.At] == nil {
			missing = append(missing, o.At)
		}
	}
	if len(missing) == 0 {
		return all, nil
	}
	got, err := f.journal.Get(ctx, missing...)
	if err != nil {
		return nil, err
	}
	for i, at := range missing {
		all[at] = got[i]
		f.shelf.keep(at, got[i])
	}
	return all, nil
}

// free removes bundles that nobody needs any more, some together. What a crash leaves goes with the flow.
func (f *flow) free(ctx context.Context, at []string) {
	k, ok := f.journal.(Keeper)
	f.mu.Lock()
	for _, place := range at {
		f.shelf.forget(place)
	}
	f.spent = append(f.spent, at...)
	var spent []string
	if !ok || len(f.spent) >= spentMost {
		spent, f.spent = f.spent, nil
	}
	f.mu.Unlock()
	if ok && len(spent) > 0 {
		_ = k.Free(ctx, spent...)
	}
}
