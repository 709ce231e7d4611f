package cluster

import (
	"cmp"
	"slices"
)

// BaseEvery is how many records of the log one window of bases covers.
const BaseEvery = 32

// base is the chain hash after a record.
type base struct {
	index Index
	chain Hash
}

// passed keeps the chain hash of the record that the value has just passed. A window begins at every record whose count is divisible by BaseEvery, so that
// a value that was loaded there knows as much as one that has applied all entries.
func (v *Value) passed() {
	if v.Even() {
		v.bases = nil
	}
	v.bases = append(slices.Clip(v.bases), base{v.index, v.chain})
}

// Even tells whether a window of bases begins at this value. Snapshots are taken of such values: whoever loads one refuses the same entries as everybody else.
func (v Value) Even() bool { return v.applied%BaseEvery == 0 }

// foreign returns why no member with this history can have written the entry; "" where one can, or where its base is before the window.
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
	r := &decoder{data: data, off: 2}
	index, chain := Index(r.uvarint()), Hash(r.uvarint())
	return index, chain, r.err
}
