package logdocs

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/rota-run/rota/store"
)

// kind is what an operation does.
type kind byte

const (
	kindPut    kind = 'p'
	kindDelete kind = 'd'
	kindMark   kind = 'm'
)

// op is one record of the log.
type op struct {
	kind   kind
	name   string // given by its author: no two operations have the same
	key    string
	expect uint64 // the version that must be current; 0: the document does not exist
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
func decodeOp(b []byte) (op, bool) {
	if len(b) == 0 {
		return op{}, false
	}
	o := op{kind: kind(b[0])}
	var ok1, ok2, ok3 bool
	b = b[1:]
	o.name, b, ok1 = cutText(b)
	o.key, b, ok2 = cutText(b)
	o.expect, b, ok3 = cutNumber(b)
	o.value = b
	if !ok1 || !ok2 || !ok3 || o.name == "" {
		return op{}, false
	}
	switch o.kind {
	case kindPut, kindDelete:
		return o, store.CheckKey(o.key) == nil
	case kindMark:
		return o, true
	}
	return op{}, false
}

func cutText(b []byte) (string, []byte, bool) {
	n, b, ok := cutNumber(b)
	if !ok || n > uint64(len(b)) {
		return "", nil, false
	}
	return string(b[:n]), b[n:], true
}

func cutNumber(b []byte) (uint64, []byte, bool) {
	n, used := binary.Uvarint(b)
	if used <= 0 {
		return 0, nil, false
	}
	return n, b[used:], true
}

// doc is a document as it is after some operations.
type doc struct {
	value   []byte
	version uint64 // the index of the put that wrote it
}

// state is what the operations up to an index have made.
type state struct {
	applied uint64
	docs    map[string]doc
	skipped int64 // records that are no operations
}

func newState() state { return state{docs: make(map[string]doc)} }

// outcome is what was decided about an operation.
type outcome struct {
	version uint64 // of a put that was done
	err     error  // store.ErrConflict or store.ErrNotFound: nothing was changed
	changed bool
}

// apply decides about the record at an index. It is total: a record that is no operation changes nothing.
func (s *state) apply(r store.Record) (op, outcome) {
	s.applied = r.Index
	o, ok := decodeOp(r.Data)
	if !ok {
		s.skipped++
		return op{}, outcome{}
	}
	if o.kind == kindMark {
		return o, outcome{}
	}
	present, exists := s.docs[o.key]
	switch {
	case o.kind == kindDelete && !exists:
		return o, outcome{err: store.ErrNotFound}
	case present.version != o.expect:
		return o, outcome{err: store.ErrConflict}
	case o.kind == kindDelete:
		delete(s.docs, o.key)
		return o, outcome{changed: true}
	}
	s.docs[o.key] = doc{value: o.value, version: r.Index}
	return o, outcome{version: r.Index, changed: true}
}

func version(index uint64) store.Version { return store.Version(strconv.FormatUint(index, 36)) }

// indexOf is the index that a version names: 0 for "", which is that of no document. Not ok: no document ever had it.
func indexOf(v store.Version) (index uint64, ok bool) {
	if v == "" {
		return 0, true
	}
	index, err := strconv.ParseUint(string(v), 36, 64)
	return index, err == nil && index > 0 && version(index) == v
}

// get returns a document.
func (s *state) get(key string) (store.Doc, error) {
	d, ok := s.docs[key]
	if !ok {
		return store.Doc{}, store.ErrNotFound
	}
	return d.public(key), nil
}

func (d doc) public(key string) store.Doc {
	return store.Doc{Key: key, Value: append([]byte{}, d.value...), Version: version(d.version)}
}

// list returns the documents below a prefix, sorted by key.
func (s *state) list(prefix string) []store.Doc {
	var out []store.Doc
	for key, d := range s.docs { // order-free: it is sorted below
		if strings.HasPrefix(key, prefix) {
			out = append(out, d.public(key))
		}
	}
	slices.SortFunc(out, func(a, b store.Doc) int { return strings.Compare(a.Key, b.Key) })
	return out
}

// format begins a snapshot.
const format = "rota documents 1\n"

// encode is the snapshot: the documents sorted by key, each with key, version and value.
func (s *state) encode() []byte {
	b := []byte(format)
	for _, key := range slices.Sorted(maps.Keys(s.docs)) {
		d := s.docs[key]
		b = appendText(b, key)
		b = binary.AppendUvarint(b, d.version)
		b = appendText(b, string(d.value))
	}
	return b
}

// decodeState reads what encode wrote.
func decodeState(r store.Record) (state, error) {
	s := newState()
	s.applied = r.Index
	text, ok := strings.CutPrefix(string(r.Data), format)
	if !ok {
		return s, fmt.Errorf("snapshot at %d: it is not of this format: use a newer version of this program: %w", r.Index, ErrDamaged)
	}
	for b := []byte(text); len(b) > 0; {
		var key, value string
		var d doc
		var ok1, ok2, ok3 bool
		key, b, ok1 = cutText(b)
		d.version, b, ok2 = cutNumber(b)
		value, b, ok3 = cutText(b)
		if !ok1 || !ok2 || !ok3 {
			return s, fmt.Errorf("snapshot at %d: cut off: %w", r.Index, ErrDamaged)
		}
		d.value = []byte(value)
		s.docs[key] = d
	}
	return s, nil
}
