package cluster

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/cespare/xxhash/v2"

	"github.com/rota-run/rota/internal/ordered"
)

// A snapshot is magic, format, index, chain, digest, applied, settings, then the records by kind, each list sorted by
// key. What is derived is left out.
const snapshotMagic = 0xA7

// Snapshot encodes the value: equal values have equal bytes.
func (v Value) Snapshot() []byte {
	x := &coder{data: make([]byte, 0, 4096+sizeOf(&v.jobs, codeJobRecord)+sizeOf(&v.partitions, codePartitionRecord))}
	x.data = append(x.data, snapshotMagic, byte(Format))
	v.codeHead(x)
	codeRecords(x, &v.members, func(x *coder, _ *MemberID, m *memberRecord) { codeMember(x, &m.Member) })
	codeRecords(x, &v.jobs, codeJobRecord)
	codeRecords(x, &v.partitions, codePartitionRecord)
	codeRecords(x, &v.writers, codeWriter)
	return x.data
}

func codeJobRecord(x *coder, _ *JobID, j **jobRecord) { codeJob(x, &(*j).Job) }

func codePartitionRecord(x *coder, _ *PartitionID, p **partitionRecord) {
	codePartition(x, &(*p).Partition)
}

// codeHead codes what is before the records.
func (v *Value) codeHead(x *coder) {
	codeUint(x, &v.index)
	codeUint(x, &v.chain)
	codeUint(x, &v.digest)
	codeUint(x, &v.applied)
	codeSettings(x, &v.settings)
	if v.settings.Placement == PlacementOffered {
		codeLeadership(x, &v.leader)
	}
	if v.shared() {
		codeAnnouncement(x, &v.epoch)
	}
}

func codeRecords[K cmp.Ordered, V any](x *coder, all *ordered.Map[K, V], code func(*coder, *K, *V)) {
	x.data = appendUvarint(x.data, uint64(ordered.Len(all)))
	ordered.Each(all, func(k K, v V) bool {
		code(x, &k, &v)
		return true
	})
}

// sizeOf is how many bytes the records of one kind need. To encode them twice costs less than a slice that grows: it
// leaves five times its length behind.
func sizeOf[K cmp.Ordered, V any](all *ordered.Map[K, V], code func(*coder, *K, *V)) (size int) {
	var x coder
	ordered.Each(all, func(k K, v V) bool {
		x.data = x.data[:0]
		code(&x, &k, &v)
		size += len(x.data)
		return true
	})
	return size
}

// DecodeSnapshot reads the output of Snapshot and checks its digest. Its error is a *FormatError if it is of another
// format, else a *CorruptError.
func DecodeSnapshot(data []byte) (Value, error) {
	if len(data) < 2 || data[0] != snapshotMagic {
		return Value{}, &CorruptError{Reason: "it is not a snapshot"}
	}
	if uint32(data[1]) != Format {
		return Value{}, &FormatError{Format: uint32(data[1])}
	}
	r := &coder{reading: true, data: data, off: 2}
	d := &draft{loading: true}
	d.codeHead(r)
	digest := d.digest
	d.at, d.digest = d.index, d.settingsHash()+d.leaderHash()+d.epochHash()
	d.load(r)
	if err := r.end(); err != nil {
		return Value{}, err
	}
	if d.digest != digest {
		r.fail(fmt.Sprintf("its digest is %s, its records give %s", digest, d.digest))
		return Value{}, r.err
	}
	d.bases = []base{{d.index, d.chain}}
	return d.value(), nil
}

// shared is what the records of one snapshot have in common: names, definitions and whole specs that many of them say
// again are in memory once, and none of them keeps the snapshot's bytes.
type shared struct {
	next    string // expected: the name of the next partition
	strings [sharedNames]string
	blobs   [sharedNames][]byte
	texts   texts
	spec    *JobSpec // the last one that is shared
	as      []byte   // its encoding
}

// sharedNames is how many different names are known at a time.
const sharedNames = 256

func (s *shared) string(r *coder, b []byte) string {
	if s.next != "" && string(b) == s.next {
		return s.next
	}
	if len(b) == 0 {
		return ""
	}
	at := &s.strings[xxhash.Sum64(b)%sharedNames]
	if *at == string(b) {
		return *at
	}
	if !utf8.Valid(b) {
		r.fail("text that is not UTF-8")
	}
	*at = s.texts.copy(b)
	return *at
}

func (s *shared) blob(b []byte) []byte {
	if len(b) == 0 {
		return nil
	}
	at := &s.blobs[xxhash.Sum64(b)%sharedNames]
	if !bytes.Equal(*at, b) {
		*at = bytes.Clone(b)
	}
	return *at
}

// jobSpec decodes a spec, or finds that the encoding begins with that of the last one: no encoding begins with another.
func (x *coder) jobSpec() *JobSpec {
	s := x.shared
	if s != nil && s.spec != nil && bytes.HasPrefix(x.data[x.off:], s.as) {
		x.off += len(s.as)
		return s.spec
	}
	from := x.off
	var spec JobSpec
	codeJobSpec(x, &spec)
	if s != nil && x.err == nil {
		s.spec, s.as = &spec, x.data[from:x.off]
	}
	return &spec
}

// texts makes strings that have their bytes in common blocks.
type texts struct{ block strings.Builder }

const textBlock = 8 << 10

func (t *texts) copy(b []byte) string {
	from := t.room(len(b))
	t.block.Write(b)
	return t.block.String()[from:]
}

// room is where a text of n bytes will begin.
func (t *texts) room(n int) int {
	if t.block.Cap()-t.block.Len() < n {
		t.block = strings.Builder{}
		t.block.Grow(max(textBlock, n))
	}
	return t.block.Len()
}
