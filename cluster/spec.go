package cluster

// Spread says how many partitions a task has.
type Spread uint8

// The spreads. Pool needs the job schedulers, which do not exist yet: a job with a pool task is refused at submission.
const (
	SpreadSingle      Spread = iota // one partition
	SpreadEvery                     // one per joined, undrained member that the rules allow; its key is the member
	SpreadPartitioned               // an explicit set that the owners change by finishing and splitting
	SpreadPool                      // interchangeable slots, min..max
)

// Handover is the contract under which a partition moves between two live members.
type Handover uint8

// The hand-overs.
const (
	HandoverAtMostOne Handover = iota // the old owner has stopped, or its lease has provably ended, before the new one starts
	HandoverNoGap                     // the new one runs before the old one stops
	HandoverFast                      // switch at once
)

// Label is one key=value of a member, or one requirement of a task.
type Label struct{ Key, Value string }

// JobSpec is what a user submits. It is a value: nobody changes a spec after it was given to [SubmitJob].
type JobSpec struct {
	Tasks []TaskSpec
	// Source is the name of the source that defined the job ("" when a client did). A source removes only its own jobs.
	Source string
	// Version is what the source calls this version of the definition; any text.
	Version string
}

// TaskSpec is a node of a job. Definition is opaque to the value: only the runner's side reads it.
type TaskSpec struct {
	Name       string // "" only when the job has one task
	Type       string // the task type
	Spread     Spread
	Weight     int64 // load of each partition; 0 means 100
	Handover   Handover
	Selector   []Label  // labels a member must have; sorted by key
	SpreadOver string   // label over whose values the partitions of this task are spread evenly; "" for none
	Pin        MemberID // the only member that may run it; "" for any
	// MaxAttempts is how many failures in a row park a partition; 0 means never.
	MaxAttempts int64
	Partitions  []string // initial keys when Spread is partitioned
	Definition  []byte   // JSON: every, timeout, tags, config, ...; see package work
}
