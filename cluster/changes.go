package cluster

import (
	"cmp"
	"slices"

	"github.com/rota-run/rota/internal/ordered"
)

// Record names one record of a value: exactly one of its fields is set.
type Record struct {
	Member    MemberID
	Job       JobID
	Partition PartitionID
}

func (r Record) compare(o Record) int {
	return cmp.Or(cmp.Compare(r.kind(), o.kind()), cmp.Compare(r.Member, o.Member), cmp.Compare(r.Job, o.Job),
		cmp.Compare(r.Partition, o.Partition))
}

// note is a Record as it is kept.
type note struct {
	kind byte
	id   string
}

func (n note) record() Record {
	switch n.kind {
	case kindMember:
		return Record{Member: MemberID(n.id)}
	case kindJob:
		return Record{Job: JobID(n.id)}
	}
	return Record{Partition: PartitionID(n.id)}
}

// step is the records that one entry has set or removed, each once or more. Steps are shared by all values that came
// about by them.
type step struct {
	chain  Hash // of the value that it led to
	notes  []note
	before *step
	length int    // of the chain of steps
	total  int    // notes in it
	older  []step // those before the first of the chain, newest first
}

// maxSteps bounds the chain, and maxNotes what it notes before its last step. Then a new chain begins. The former one
// is kept, and those before it are not: a reader that is further behind compares everything.
const (
	maxSteps = 512
	maxNotes = 32 << 10
)

func (s *step) then(chain Hash, notes []note) *step {
	if cap(notes)-len(notes) > len(notes)/8 { // they are kept for long
		notes = slices.Clone(notes)
	}
	next := &step{chain: chain, notes: notes, before: s, length: 1, total: len(notes)}
	switch {
	case s == nil:
	case s.length < maxSteps && s.total < maxNotes:
		next.length, next.total, next.older = s.length+1, s.total+len(notes), s.older
	default:
		next.before, next.older = nil, make([]step, 0, s.length)
		for ; s != nil; s = s.before {
			next.older = append(next.older, step{chain: s.chain, notes: s.notes})
		}
	}
	return next
}

// since is what the steps after the value with a chain hash have noted; false where that is not known.
func (s *step) since(chain Hash) (out noted, ok bool) {
	var older []step
	for ; s != nil; s = s.before {
		if s.chain == chain {
			return out, true
		}
		out = append(out, s.notes)
		older = s.older
	}
	for i := range older {
		if older[i].chain == chain {
			return out, true
		}
		out = append(out, older[i].notes)
	}
	return nil, false
}

// noted is the notes of some steps. A record may be in it more than once.
type noted [][]note

func (n noted) len() (total int) {
	for _, notes := range n {
		total += len(notes)
	}
	return total
}

func (n noted) records() []Record {
	out := make([]Record, 0, n.len())
	for _, notes := range n {
		for _, x := range notes {
			out = append(out, x.record())
		}
	}
	return out
}

// Changes lists the records that differ between two values, including those that exist in only one: members, then jobs,
// then partitions, each sorted. If after follows from before by at most some hundred entries, the cost is that of their
// changes; otherwise it compares all records.
func Changes(before, after Value) []Record {
	var touched []Record
	if noted, ok := after.recent.since(before.chain); ok {
		touched = noted.records()
	} else {
		touched = slices.Concat(before.all(), after.all())
	}
	slices.SortFunc(touched, Record.compare)
	touched = slices.Compact(touched)
	return slices.DeleteFunc(touched, func(r Record) bool { return before.hashOf(r) == after.hashOf(r) })
}

func (r Record) kind() byte {
	switch {
	case r.Member != "":
		return kindMember
	case r.Job != "":
		return kindJob
	}
	return kindPartition
}

// all lists all records.
func (v Value) all() []Record {
	out := make([]Record, 0, ordered.Len(&v.members)+ordered.Len(&v.jobs)+ordered.Len(&v.partitions))
	ordered.Each(&v.members, func(id MemberID, _ memberRecord) bool { out = append(out, Record{Member: id}); return true })
	ordered.Each(&v.jobs, func(id JobID, _ *jobRecord) bool { out = append(out, Record{Job: id}); return true })
	ordered.Each(&v.partitions, func(id PartitionID, _ *partitionRecord) bool {
		out = append(out, Record{Partition: id})
		return true
	})
	return out
}

// hashOf is the hash of a record; 0 if there is none.
func (v Value) hashOf(r Record) Hash {
	switch r.kind() {
	case kindMember:
		m, _ := ordered.Get(&v.members, r.Member)
		return m.hash
	case kindJob:
		if j, ok := ordered.Get(&v.jobs, r.Job); ok {
			return j.hash
		}
	default:
		if p, ok := ordered.Get(&v.partitions, r.Partition); ok {
			return p.hash
		}
	}
	return 0
}
