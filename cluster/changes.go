package cluster

import (
	"cmp"
	"slices"
)

// Record names one record of a value: exactly one of its fields is set.
type Record struct {
	Member    MemberID
	Job       JobID
	Partition PartitionID
}

func (r Record) compare(o Record) int {
	return cmp.Or(cmp.Compare(r.Member, o.Member), cmp.Compare(r.Job, o.Job), cmp.Compare(r.Partition, o.Partition))
}

// step is the records that one entry, or a row of them, has set or removed. Steps are shared by all values that came about by them.
type step struct {
	before  *step
	records []Record
	length  int // of the chain
}

// maxSteps bounds the chain of steps. Its older part is then one step, and what is before that is forgotten.
const maxSteps = 512

func (s *step) then(records []Record) *step {
	if s == nil {
		return &step{records: records, length: 1}
	}
	if s.length < maxSteps {
		return &step{before: s, records: records, length: s.length + 1}
	}
	whole := &step{records: s.since(nil), length: 1}
	return &step{before: whole, records: records, length: 2}
}

// since is the records of the steps after one; of all for nil.
func (s *step) since(last *step) (out []Record) {
	for ; s != nil && s != last; s = s.before {
		out = append(out, s.records...)
	}
	slices.SortFunc(out, Record.compare)
	return slices.Compact(out)
}

// has tells whether the chain goes back to a step. The zero value has none, and a chain that was cut does not say whether it began there.
func (s *step) has(last *step) bool {
	if last == nil {
		return false
	}
	for ; s != nil; s = s.before {
		if s == last {
			return true
		}
	}
	return false
}

// Changes lists the records that differ between two values, those too that are in one alone: members, then jobs, then partitions, each sorted. Where after
// came about from before by at most some hundred entries it costs what those have changed; else it looks at all records.
func Changes(before, after Value) []Record {
	var touched []Record
	if after.recent.has(before.recent) {
		touched = after.recent.since(before.recent)
	} else {
		touched = slices.Concat(before.all(), after.all())
		slices.SortFunc(touched, Record.compare)
		touched = slices.Compact(touched)
	}
	out := slices.DeleteFunc(touched, func(r Record) bool { return before.hashOf(r) == after.hashOf(r) })
	slices.SortFunc(out, func(a, b Record) int { return cmp.Or(cmp.Compare(a.kind(), b.kind()), a.compare(b)) })
	return out
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
	out := make([]Record, 0, v.members.len()+v.jobs.len()+v.partitions.len())
	v.members.each(func(id MemberID, _ memberRecord) bool { out = append(out, Record{Member: id}); return true })
	v.jobs.each(func(id JobID, _ *jobRecord) bool { out = append(out, Record{Job: id}); return true })
	v.partitions.each(func(id PartitionID, _ *partitionRecord) bool { out = append(out, Record{Partition: id}); return true })
	return out
}

// hashOf is the hash of a record; 0 where there is none.
func (v Value) hashOf(r Record) Hash {
	switch r.kind() {
	case kindMember:
		m, _ := v.members.get(r.Member)
		return m.hash
	case kindJob:
		if j, ok := v.jobs.get(r.Job); ok {
			return j.hash
		}
	default:
		if p, ok := v.partitions.get(r.Partition); ok {
			return p.hash
		}
	}
	return 0
}
