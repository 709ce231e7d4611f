package cluster

import "github.com/rota-run/rota/internal/schedule"

// Spread determines the number of partitions of a task.
type Spread uint8

// The spreads.
const (
	SpreadSingle      Spread = iota // one partition
	SpreadEvery                     // one per joined member that is not draining and that the rules allow; its key is the member
	SpreadPartitioned               // an explicit set that the owners change by finishing and splitting
	SpreadPool                      // one per slot that the schedulers give to the task; its key is the slot, member:number
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

// JobSpec is a submitted definition. It is a value: do not change it after it was given to [SubmitJob].
type JobSpec struct {
	Tasks []TaskSpec
	// Source is the name of the source that defined the job ("" when a client did). A source removes only its own jobs.
	Source string
	// Version is the source's version of the definition; any text.
	Version string
	Workflow
}

// Workflow holds the settings for all tasks of a job. All except the edges is for jobs with tasks of spread pool.
type Workflow struct {
	// Edges form a graph of tasks without cycles. Its topological order, by place in Tasks if the edges leave a choice, is the order
	// in which the tasks get slots. Without Batch an edge delays no task: a task with an empty input waits on its own.
	Edges []Edge
	// Batch makes each edge, whose ends must both be of spread pool, delay its task until the task before it is finished.
	Batch     bool
	Scheduler schedule.TaskScheduler
	Coverage  bool  // run with a slot for each unfinished task (its Min, if set), or not at all
	Percent   int64 // of all slots, if the cluster shares by percentages
}

// Edge connects the output of one task to the input of another.
type Edge struct{ From, To string }

// TaskSpec is a node of a job. Definition is opaque to the value: only the supervisor reads it.
type TaskSpec struct {
	Name       string // "" only if the job has one task
	Type       string // the task type
	Spread     Spread
	Weight     int64 // load of each partition; 0 means 100
	Handover   Handover
	Selector   []Label  // labels a member must have; sorted by key
	SpreadOver string   // label over whose values the partitions of this task are spread evenly; "" for none
	Pin        MemberID // the only member that may run it; "" for any
	// Stay, for spread single and partitioned: no partition moves to even the load. They are spread evenly among themselves.
	Stay bool
	// MaxAttempts is how many failures in a row park a partition; 0 means never.
	MaxAttempts int64
	Partitions  []string // initial keys when Spread is partitioned
	Definition  []byte   // JSON: every, timeout, tags, config, ...; see package work
	// For spread pool: the fewest and most slots (0: one, and no limit), and the percentage of the job's slots, if it shares by
	// percentages.
	Min, Max, Percent int64
	// Repartition, for spread pool: each run gets its index and the number of slots of the task. When the slots change, all runs
	// of the task stop before those with the new shares start.
	Repartition bool
}
