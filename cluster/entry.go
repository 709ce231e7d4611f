package cluster

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/cespare/xxhash/v2"
)

// Format is the version of the encoding of entries, snapshots and records. There is one: what has another is refused
// with a [FormatError].
const Format uint32 = 6

// Hash is a chain hash or digest: it detects accidents, not malice (XXH64, published by Y. Collet).
type Hash uint64

// Entry is one record of the log.
type Entry struct {
	Index  Index    // given by the log, not part of the encoded bytes
	Writer WriterID // with Seq removes duplicates: a retried append may be in the log twice
	Seq    uint64   // grows by writer; one that is not greater than the last applied one is a duplicate
	// AtMS is the writer's wall clock in milliseconds since 1970, only for people: it decides nothing.
	AtMS int64
	// BaseIndex and BaseChain are the last index and chain hash that the writer had applied when it wrote. A replica
	// with another chain hash at that index knows that the store lost or rewrote its tail.
	BaseIndex Index
	BaseChain Hash
	Commands  []Command

	data []byte // as read; set by DecodeEntry so that applying it need not encode it again
}

// Result is the outcome of one command of an entry.
type Result struct {
	Accepted bool
	Reason   string // why it did nothing; "" if accepted
}

// bytes is the entry as stored in the log.
func (e *Entry) bytes() []byte {
	if e.data != nil {
		return e.data
	}
	return e.Encode()
}

// entryMagic begins every entry. The format follows it, so that what another Rota wrote is told from garbage.
const entryMagic = 0xE7

// Encode returns the entry as stored in the log: all fields except its index.
func (e Entry) Encode() []byte {
	room := make([]byte, 0, 16+48*len(e.Commands)) // for short ones
	x := &coder{data: appendUvarint(append(room, entryMagic), Format)}
	e.code(x)
	return x.data
}

func (e *Entry) code(x *coder) {
	codeText(x, &e.Writer)
	codeUint(x, &e.Seq)
	codeInt(x, &e.AtMS)
	codeUint(x, &e.BaseIndex)
	codeUint(x, &e.BaseChain)
	codeList(x, &e.Commands, codeCommand)
}

// DecodeEntry reads the entry that the log has at index. Its error is a *FormatError if it is of another format, else a
// *CorruptError. The entry retains data.
func DecodeEntry(index Index, data []byte) (Entry, error) {
	x := &coder{reading: true, index: index, data: data}
	x.must(x.byte() == entryMagic, "it does not begin as an entry")
	x.format()
	e := Entry{Index: index, data: data}
	if e.code(x); x.end() != nil {
		return Entry{}, x.err
	}
	return e, nil
}

// format reads the format, which must be ours.
func (x *coder) format() {
	f := x.uvarint()
	switch {
	case x.err != nil || f == uint64(Format):
	case f == 0:
		x.fail("format zero")
	default:
		x.err = &FormatError{Index: x.index, Format: uint32(min(f, 1<<32-1))}
	}
}

// String returns the entry on one line: index, writer and number, commands.
func (e Entry) String() string {
	parts := make([]string, len(e.Commands))
	for i, c := range e.Commands {
		parts[i] = fmt.Sprint(c)
	}
	return fmt.Sprintf("%d %s/%d %s", e.Index, e.Writer, e.Seq, strings.Join(parts, "; "))
}

// BaseEvery is how many records of the log one window of bases covers.
const BaseEvery = 32

// base is the chain hash after a record.
type base struct {
	index Index
	chain Hash
}

// passed keeps the chain hash of the record that the value has just passed. A window begins at every record whose count
// is divisible by BaseEvery, so that a value that was loaded there knows as much as one that has applied all entries.
func (v *Value) passed() {
	if v.Even() {
		v.bases = nil
	}
	v.bases = append(slices.Clip(v.bases), base{v.index, v.chain})
}

// Even tells whether a window of bases begins at this value. Snapshots are taken of such values: a member that loads
// one refuses what others refuse.
func (v Value) Even() bool { return v.applied%BaseEvery == 0 }

// foreign returns why no member with this history can have written the entry; "" where one can, or where its base is
// before the window.
func (v *Value) foreign(e *Entry) string {
	if e.BaseIndex >= e.Index {
		return "its writer says that it had applied entry " + e.BaseIndex.String() + ", which does not exist yet"
	}
	known := v.bases
	if len(known) == 0 {
		known = []base{{}} // the beginning of the log
	}
	if e.BaseIndex < known[0].index {
		return ""
	}
	i, ok := slices.BinarySearchFunc(known, e.BaseIndex, func(b base, i Index) int { return cmp.Compare(b.index, i) })
	if ok && known[i].chain == e.BaseChain {
		return ""
	}
	return OtherHistory
}

// OtherHistory is why an entry is refused whose writer had applied another history than this log's.
const OtherHistory = "its writer had applied another history"

// Chained is the chain hash after a record that follows one with hash prev.
func Chained(prev Hash, index Index, data []byte) Hash { return chain(prev, index, data) }

// SnapshotHead reads index and chain hash of a snapshot, and nothing else of it.
func SnapshotHead(data []byte) (Index, Hash, error) {
	if len(data) < 2 || data[0] != snapshotMagic {
		return 0, 0, &CorruptError{Reason: "it is not a snapshot"}
	}
	r := &coder{reading: true, data: data, off: 2}
	index, chain := Index(r.uvarint()), Hash(r.uvarint())
	return index, chain, r.err
}

// String returns 16 hex digits.
func (h Hash) String() string { return fmt.Sprintf("%016x", uint64(h)) }

// encode begins a record; hash returns the hash of what was written since. The kind comes last, so that equal bytes of
// different records have different hashes.
func (d *draft) encode() *coder {
	d.coder.data = d.coder.data[:0]
	return &d.coder
}

func (d *draft) hash(kind byte) Hash {
	d.coder.data = append(d.coder.data, kind)
	return Hash(xxhash.Sum64(d.coder.data))
}

// chain is the hash over everything up to and with the record at index.
func chain(prev Hash, index Index, data []byte) Hash {
	var head [16]byte
	binary.LittleEndian.PutUint64(head[:8], uint64(prev))
	binary.LittleEndian.PutUint64(head[8:], uint64(index))
	return Hash(xxhash.Sum64(head[:]) + 31*xxhash.Sum64(data))
}
