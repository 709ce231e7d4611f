package fold

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strconv"

	"github.com/rota-run/rota/internal/ordered"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/driver"
	"github.com/rota-run/rota/store/engine/log"
)

// kind is what an operation does.
type kind byte

const (
	kindPut    kind = 'p'
	kindBeat   kind = 'b' // a put without a hint
	kindDelete kind = 'd'
	kindFree   kind = 'f' // all rows from its key to its value
	kindMark   kind = 'm'
)

// op is one record of the journal.
type op struct {
	kind   kind
	name   string // given by its author: no two operations have the same, unless one is sent again
	key    string
	expect uint64 // the version that must be current; 0: the row does not exist
	value  []byte
}

// encode lays an operation out: kind; name and key, each with its length; the expected version; the value.
func (o op) encode() []byte {
	b := make([]byte, 0, 1+3*binary.MaxVarintLen64+len(o.name)+len(o.key)+len(o.value))
	b = append(b, byte(o.kind))
	b = appendText(b, o.name)
	b = appendText(b, o.key)
	b = binary.AppendUvarint(b, o.expect)
	return append(b, o.value...)
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// decodeOp reads what encode wrote. The value shares memory with b.
func decodeOp(b []byte) (o op, ok bool) {
	if len(b) == 0 || !bytes.ContainsRune([]byte("pbdfm"), rune(b[0])) {
		return op{}, false
	}
	d := decoder{rest: b[1:]}
	o = op{kind(b[0]), d.text(), d.text(), d.number(), nil}
	o.value = d.rest
	return o, !d.bad && (o.key != "" || o.kind == kindMark)
}

// decoder reads what was laid out.
type decoder struct {
	rest []byte
	bad  bool
}

func (d *decoder) number() uint64 {
	n, used := binary.Uvarint(d.rest)
	if d.bad = d.bad || used <= 0; d.bad {
		return 0
	}
	d.rest = d.rest[used:]
	return n
}

func (d *decoder) text() string {
	n := d.number()
	if d.bad = d.bad || n > uint64(len(d.rest)); d.bad {
		return ""
	}
	s := string(d.rest[:n])
	d.rest = d.rest[n:]
	return s
}

// row is a row as it is after some operations.
type row struct {
	name    string
	value   []byte
	version uint64 // the index of the put that wrote it
}

// public is what a caller gets; a row that is not there has no version.
func (r row) public(key string) driver.Row {
	out := driver.Row{Key: key}
	if r.version > 0 {
		out.Name, out.Value, out.Version = r.name, append([]byte{}, r.value...), version(r.version)
	}
	return out
}

// state is what the operations up to an index have made.
type state struct {
	applied uint64
	rows    ordered.Map[string, row]
	skipped int64 // records that are no operations
}

// outcome is what was decided about an operation.
type outcome struct {
	version driver.Version // of a put that was done
	err     error          // *driver.Conflict: nothing was changed
	hints   bool
}

// apply decides about the record at an index. It is total: a record that is no operation changes nothing.
func (s *state) apply(r store.Record) (op, outcome) {
	s.applied = r.Index
	o, ok := decodeOp(r.Data)
	if !ok {
		s.skipped++
		return op{}, outcome{}
	}
	switch o.kind {
	case kindMark:
		return o, outcome{}
	case kindFree:
		s.free(o.key, string(o.value))
		return o, outcome{}
	}
	present, _ := ordered.Get(&s.rows, o.key)
	switch {
	case present.version != o.expect:
		now := present.public(o.key)
		return o, outcome{err: &driver.Conflict{Row: &now}}
	case o.kind == kindDelete:
		ordered.Remove(&s.rows, o.key)
		return o, outcome{hints: true}
	}
	ordered.Set(&s.rows, o.key, row{o.name, o.value, r.Index})
	return o, outcome{version: version(r.Index), hints: o.kind == kindPut}
}

// free removes the rows from one key to another, with both.
func (s *state) free(from, to string) {
	var gone []string
	ordered.From(&s.rows, from, func(key string, _ row) bool {
		if key <= to {
			gone = append(gone, key)
		}
		return key <= to
	})
	for _, key := range gone {
		ordered.Remove(&s.rows, key)
	}
}

func version(index uint64) driver.Version { return driver.Version(strconv.FormatUint(index, 36)) }

// never is a version that no row has.
const never = 1<<64 - 1

// indexOf is the index that a version names: 0 for "", which is that of no row.
func indexOf(v driver.Version) uint64 {
	if v == "" {
		return 0
	}
	index, err := strconv.ParseUint(string(v), 36, 64)
	if err != nil || index == 0 || version(index) != v {
		return never
	}
	return index
}

// format begins a snapshot.
const format = "rota rows 1\n"

// encode lays all rows out, sorted by key, each with version, name and value.
func (s *state) encode() []byte {
	b := []byte(format)
	ordered.Each(&s.rows, func(key string, r row) bool {
		b = binary.AppendUvarint(appendText(b, key), r.version)
		b = appendText(appendText(b, r.name), string(r.value))
		return true
	})
	return b
}

// decodeState reads what encode wrote.
func decodeState(r store.Record) (state, error) {
	s := state{applied: r.Index}
	b, ok := bytes.CutPrefix(r.Data, []byte(format))
	if !ok {
		return s, fmt.Errorf("snapshot at %d: it is not of this format: use a newer version of Rota: %w", r.Index,
			log.ErrDamaged)
	}
	d := decoder{rest: b}
	for len(d.rest) > 0 && !d.bad {
		key, v := d.text(), d.number()
		ordered.Set(&s.rows, key, row{d.text(), []byte(d.text()), v})
	}
	if d.bad {
		return s, fmt.Errorf("snapshot at %d: cut off: %w", r.Index, log.ErrDamaged)
	}
	return s, nil
}
