package cluster

import "github.com/rota-run/rota/schedule"

// Spread says how many partitions a task has.
type Spread uint8

// The spreads.
const (
	SpreadSingle      Spread = iota // one partition
	SpreadEvery                     // one per joined, undrained member that the rules allow; its key is the member
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

// JobSpec is what a user submits. It is a value: nobody changes a spec after it was given to [SubmitJob].
type JobSpec struct {
	Tasks []TaskSpec
	// Source is the name of the source that defined the job ("" when a client did). A source removes only its own jobs.
	Source string
	// Version is what the source calls this version of the definition; any text.
	Version string
	Workflow
}

// Workflow is what a job says about its tasks as a whole. All but the edges is for jobs with tasks of spread pool.
type Workflow struct {
	// Edges make the tasks a graph without cycles. Its topological order, by place in Tasks where the edges leave a choice, is the order
	// in which the tasks are served. Without Batch an edge holds nobody up: a task whose input is empty waits by itself.
	Edges []Edge
	// Batch makes each edge, both ends of which are of spread pool then, hold its task back until the one that it comes from is finished.
	Batch     bool
	Scheduler schedule.TaskScheduler
	Coverage  bool  // run with a slot for each unfinished task (its Min, where it has one), or not at all
	Percent   int64 // of all slots, where the cluster shares by percentages
}

// Edge says that what one task puts out another takes in.
type Edge struct{ From, To string }

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
	// For spread pool: the fewest and most slots (0: one, and no limit), and the percentage of the slots of the job, where it shares by
	// percentages.
	Min, Max, Percent int64
	// Repartition, for spread pool: each run is told its share, which of how many slots of the task it is. When the slots change, all runs
	// of the task stop, and only then those with the new shares start.
	Repartition bool
}
