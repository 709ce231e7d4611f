package doclog

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"strconv"
	"strings"
)

// kind is the kind of an entry.
type kind byte

const (
	kindRecord kind = 'r'
	kindSeed   kind = 's' // at index 1 alone: the log is to begin behind the index that its data names
)

// entry is the entry at one index.
type entry struct {
	kind kind
	name string // of the append, so that its author knows it again; no two appends have the same
	data []byte
}

// encode lays an entry out: kind, length of the name, name, CRC-32C of the index and all the rest, data.
func (e entry) encode(index uint64) []byte {
	b := make([]byte, 0, 2+len(e.name)+4+len(e.data))
	b = append(b, byte(e.kind), byte(len(e.name)))
	b = append(b, e.name...)
	b = binary.BigEndian.AppendUint32(b, e.sum(index))
	return append(b, e.data...)
}

// sumOf is the CRC-32C, which hardware computes.
func sumOf(parts ...[]byte) uint32 {
	table, sum := crc32.MakeTable(crc32.Castagnoli), uint32(0)
	for _, p := range parts {
		sum = crc32.Update(sum, table, p)
	}
	return sum
}

func (e entry) sum(index uint64) uint32 {
	return sumOf(binary.BigEndian.AppendUint64(nil, index), []byte{byte(e.kind)}, []byte(e.name), e.data)
}

// decodeEntry reads the entry at an index. Its data shares memory with value.
func decodeEntry(index uint64, value []byte) (entry, error) {
	bad := func(why string) (entry, error) {
		return entry{}, fmt.Errorf("record %d: %s: %w", index, why, ErrDamaged)
	}
	if len(value) < 2 || len(value) < 2+int(value[1])+4 {
		return bad("cut off")
	}
	n := 2 + int(value[1])
	e := entry{kind: kind(value[0]), name: string(value[2:n]), data: value[n+4:]}
	if e.kind != kindRecord && e.kind != kindSeed {
		return bad("of an unknown kind")
	}
	if binary.BigEndian.Uint32(value[n:]) != e.sum(index) {
		return bad("wrong checksum")
	}
	return e, nil
}

// seedIndex is where a seed says that the log begins.
func (e entry) seedIndex() (uint64, error) {
	index, err := strconv.ParseUint(string(e.data), 10, 64)
	if err != nil || index == 0 {
		return 0, fmt.Errorf("seed %q: no index: %w", e.data, ErrDamaged)
	}
	return index, nil
}

// digits is the length of an index in a key, so that keys sort as indexes do.
const digits = 20

// entries is the prefix of the documents that hold entries.
func (l *log) entries() string { return l.o.Place + "/e/" }

func (l *log) entryKey(index uint64) string {
	return l.entries() + fmt.Sprintf("%0*d", digits, index)
}

// indexOf is the index that a key names.
func (l *log) indexOf(key string) (uint64, bool) {
	text, ok := strings.CutPrefix(key, l.entries())
	index, err := strconv.ParseUint(text, 10, 64)
	return index, ok && err == nil && len(text) == digits && index > 0
}
