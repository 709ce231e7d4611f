package cluster

import (
	"cmp"
	"fmt"

	"github.com/rota-run/rota/internal/ordered"
)

// A snapshot is magic, format, index, chain, digest, applied, settings, then the records by kind, each list sorted by key. What is derived is left out.
const snapshotMagic = 0xA7

// Snapshot encodes the value: equal values have equal bytes.
func (v Value) Snapshot() []byte {
	jobs := func(b []byte, j *jobRecord) []byte { return appendJob(b, j.Job) }
	partitions := func(b []byte, p *partitionRecord) []byte { return appendPartition(b, p.Partition) }
	b := make([]byte, 0, 4096+sizeOf(&v.jobs, jobs)+sizeOf(&v.partitions, partitions))
	b = append(b, snapshotMagic, byte(Format))
	b = appendUvarint(b, uint64(v.index))
	b = appendUvarint(b, uint64(v.chain))
	b = appendUvarint(b, uint64(v.digest))
	b = appendUvarint(b, v.applied)
	b = appendSettings(b, v.settings)
	if v.settings.Placement == PlacementOffered {
		b = appendLeadership(b, v.leader)
	}
	if v.settings.Placement == PlacementShared {
		b = appendAnnouncement(b, v.epoch)
	}
	b = appendUvarint(b, uint64(v.members.Len()))
	v.members.Each(func(_ MemberID, m memberRecord) bool { b = appendMember(b, m.Member); return true })
	b = appendUvarint(b, uint64(v.jobs.Len()))
	v.jobs.Each(func(_ JobID, j *jobRecord) bool { b = jobs(b, j); return true })
	b = appendUvarint(b, uint64(v.partitions.Len()))
	v.partitions.Each(func(_ PartitionID, p *partitionRecord) bool { b = partitions(b, p); return true })
	b = appendUvarint(b, uint64(v.writers.Len()))
	v.writers.Each(func(id WriterID, w writerRecord) bool { b = appendWriter(b, id, w); return true })
	return b
}

// sizeOf is how many bytes the records of one kind need. To encode them twice costs less than a slice that grows: it leaves five times its length behind.
func sizeOf[K cmp.Ordered, V any](all *ordered.Map[K, V], put func([]byte, V) []byte) (size int) {
	var b []byte
	all.Each(func(_ K, v V) bool {
		b = put(b[:0], v)
		size += len(b)
		return true
	})
	return size
}

// DecodeSnapshot reads the output of Snapshot and checks its digest. Its error is a *FormatError if it is of another format,
// else a *CorruptError.
func DecodeSnapshot(data []byte) (Value, error) {
	if len(data) < 2 || data[0] != snapshotMagic {
		return Value{}, &CorruptError{Reason: "it is not a snapshot"}
	}
	if uint32(data[1]) != Format {
		return Value{}, &FormatError{Format: uint32(data[1])}
	}
	r := &decoder{data: data, off: 2}
	d := &draft{loading: true}
	d.index = Index(r.uvarint())
	d.at = d.index
	d.chain = Hash(r.uvarint())
	digest := Hash(r.uvarint())
	d.applied = r.uvarint()
	d.settings = decodeSettings(r)
	if d.settings.Placement == PlacementOffered {
		d.leader = decodeLeadership(r)
	}
	if d.shared() {
		d.epoch = decodeAnnouncement(r)
	}
	d.digest = d.settingsHash() + d.leaderHash() + d.epochHash()
	d.load(r)
	if r.err == nil && r.off != len(data) {
		r.fail("bytes behind its end")
	}
	if r.err == nil && d.digest != digest {
		r.fail(fmt.Sprintf("its digest is %s, its records give %s", digest, d.digest))
	}
	if r.err != nil {
		return Value{}, r.err
	}
	d.bases = []base{{d.index, d.chain}}
	return d.value(), nil
}

func (d *draft) loadJob(j Job) {
	if j.Spec == nil {
		return
	}
	rec := &jobRecord{Job: j}
	rec.layout = &layout{d.classesOf(j.ID, j.Spec), poolTasks(j.Spec)}
	d.setJob(rec)
}
