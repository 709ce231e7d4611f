package cluster

import "iter"

// Value is the cluster: members, jobs, partitions and who owns what. It is immutable: Apply returns another one.
// The zero Value is the empty cluster. Safe for concurrent readers.
type Value struct{}

// JobState is where a job stands.
type JobState uint8

// The states of a job.
const (
	JobRunning   JobState = iota
	JobCompleted          // every partition is finished
	JobKilled
)

// Job is one job. It is a value: do not change what it points to.
type Job struct {
	ID        JobID
	State     JobState
	Spec      *JobSpec
	SpecIndex Index // of the entry that gave the present spec
	SinceMS   int64 // wall clock of the submitter, for people
}

// Index is the index of the last applied entry.
func (v Value) Index() Index { return 0 }

// Chain is the hash over everything applied.
func (v Value) Chain() Hash { return 0 }

// Digest is the additive hash over all records: equal values have equal digests.
func (v Value) Digest() Hash { return 0 }

// Members yields the members sorted by ID, held ones too.
func (v Value) Members() iter.Seq[Member] { return func(func(Member) bool) {} }

// Member returns one member.
func (v Value) Member(id MemberID) (Member, bool) { return Member{}, false }

// Jobs yields the jobs sorted by ID, ended ones that are still kept too.
func (v Value) Jobs() iter.Seq[Job] { return func(func(Job) bool) {} }

// Job returns one job.
func (v Value) Job(id JobID) (Job, bool) { return Job{}, false }

// Partitions yields the partitions sorted by ID.
func (v Value) Partitions() iter.Seq[Partition] { return func(func(Partition) bool) {} }

// Partition returns one partition.
func (v Value) Partition(id PartitionID) (Partition, bool) { return Partition{}, false }

// OwnedBy yields the partitions whose Owner or Next is the member, sorted by ID.
func (v Value) OwnedBy(m MemberID) iter.Seq[Partition] { return func(func(Partition) bool) {} }

// Reason is why a partition has no running owner: a rule, in words, and what to try.
type Reason struct {
	Rule string // "labels: gpu=yes"
	Text string // "5 members: 5 lack the label"
	Try  string
}

// Why explains a partition that has no owner; the zero Reason for one that has.
func (v Value) Why(id PartitionID) Reason { return Reason{} }

// Successor is whom the member watches in the ring; "" if it is alone or not in the ring.
func (v Value) Successor(m MemberID) MemberID { return "" }
