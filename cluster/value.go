package cluster

import (
	"errors"
	"iter"

	"github.com/rota-run/rota/internal/ordered"
)

// Value is the cluster: members, jobs, partitions and who owns what. It is immutable: Apply returns another one that
// shares what did not change. The zero Value is the empty cluster. It is safe for concurrent use.
type Value struct {
	index    Index
	chain    Hash
	digest   Hash   // additive over the records below
	applied  uint64 // entries applied; the age of writers is counted in it
	bases    []base // of the records passed since the window began, oldest first; derived
	settings Settings
	leader   Leadership
	epoch    Announcement
	recent   *step // what changed lately, for Changes

	members    ordered.Map[MemberID, memberRecord]
	jobs       ordered.Map[JobID, *jobRecord]
	partitions ordered.Map[PartitionID, *partitionRecord]
	writers    ordered.Map[WriterID, writerRecord]

	derived derived
}

type memberRecord struct {
	Member
	hash Hash
}

type writerRecord struct {
	seq  uint64
	seen uint64 // Value.applied when it last wrote
	hash Hash
}

// Index is the index of the last applied entry.
func (v Value) Index() Index { return v.index }

// Chain is the hash over everything applied.
func (v Value) Chain() Hash { return v.chain }

// Digest is the additive hash over all records: equal values have equal digests.
func (v Value) Digest() Hash { return v.digest }

// Settings returns the settings in force.
func (v Value) Settings() Settings { return v.settings.withDefaults() }

// Members yields the members sorted by ID, including held ones.
func (v Value) Members() iter.Seq[Member] {
	return func(yield func(Member) bool) {
		ordered.Each(&v.members, func(_ MemberID, m memberRecord) bool { return yield(m.Member) })
	}
}

// Member returns one member.
func (v Value) Member(id MemberID) (Member, bool) {
	m, ok := ordered.Get(&v.members, id)
	return m.Member, ok
}

// Jobs yields the jobs sorted by ID, including ended ones that are still kept.
func (v Value) Jobs() iter.Seq[Job] {
	return func(yield func(Job) bool) {
		ordered.Each(&v.jobs, func(_ JobID, j *jobRecord) bool { return yield(j.Job) })
	}
}

// Job returns one job.
func (v Value) Job(id JobID) (Job, bool) {
	j, ok := ordered.Get(&v.jobs, id)
	if !ok {
		return Job{}, false
	}
	return j.Job, true
}

// PartitionCount returns the number of partitions.
func (v Value) PartitionCount() int { return ordered.Len(&v.partitions) }

// Partitions yields the partitions sorted by ID.
func (v Value) Partitions() iter.Seq[Partition] {
	return func(yield func(Partition) bool) {
		ordered.Each(&v.partitions, func(_ PartitionID, p *partitionRecord) bool { return yield(p.Partition) })
	}
}

// Partition returns one partition.
func (v Value) Partition(id PartitionID) (Partition, bool) {
	p, ok := ordered.Get(&v.partitions, id)
	if !ok {
		return Partition{}, false
	}
	return p.Partition, true
}

// OwnedBy yields the partitions whose Owner or Next is the member, sorted by ID.
func (v Value) OwnedBy(m MemberID) iter.Seq[Partition] {
	return func(yield func(Partition) bool) {
		ordered.EachOf(&v.derived.byMember, string(m), func(p PartitionID) bool {
			rec, _ := ordered.Get(&v.partitions, p)
			return yield(rec.Partition)
		})
	}
}

// InHandover is the number of partitions that are moving between two members.
func (v Value) InHandover() int64 { return v.derived.moving }

// Applied is the number of applied entries, including duplicates and refused ones.
func (v Value) Applied() uint64 { return v.applied }

// Wrote returns the largest sequence number that the value has seen of a writer; 0 for an unknown or forgotten one.
func (v Value) Wrote(w WriterID) uint64 {
	rec, _ := ordered.Get(&v.writers, w)
	return rec.seq
}

// FirstJoined returns the first joined member by ID: it does what one member should do.
func (v Value) FirstJoined() (MemberID, bool) {
	var first MemberID
	ordered.Each(&v.members, func(id MemberID, m memberRecord) bool {
		if m.State == MemberJoined {
			first = id
		}
		return first == ""
	})
	return first, first != ""
}

// Decode reads the record that follows the value in the log. Garbage is not ok, and every member skips it. The error is
// a *FormatError: what a newer Rota wrote must not be passed over, since newer binaries reach another value by it; and
// a log that begins in an older format is none that this one can go on with. Behind an entry of ours, an older format
// is garbage.
func (v Value) Decode(index Index, data []byte) (e Entry, ok bool, err error) {
	e, err = DecodeEntry(index, data)
	var other *FormatError
	if errors.As(err, &other) && (other.Format > Format || ordered.Len(&v.writers) == 0) {
		return Entry{}, false, err
	}
	return e, err == nil, nil
}

// Skip skips a record of the log that is not an entry: it counts, and does nothing.
func (v Value) Skip(index Index, data []byte) Value {
	if index > v.index {
		v.index, v.chain = index, chain(v.chain, index, data)
		v.applied++
		v.passed()
		v.recent = v.recent.then(v.chain, nil)
	}
	return v
}

// PartitionsOf yields the partitions of a job: that of its unnamed task without a key, those with keys, then those of
// named tasks, each sorted by ID.
func (v Value) PartitionsOf(id JobID) iter.Seq[Partition] {
	return func(yield func(Partition) bool) { v.eachOf(id, yield) }
}

// Following returns the member whose name follows, wrapping at the end; "" if there is none.
func (v Value) Following(id MemberID) (next MemberID) {
	ordered.From(&v.members, id, func(m MemberID, _ memberRecord) bool {
		if m != id {
			next = m
		}
		return next == ""
	})
	if next == "" {
		ordered.Each(&v.members, func(m MemberID, _ memberRecord) bool {
			next = m
			return false
		})
	}
	return next
}
