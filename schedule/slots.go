package schedule

import (
	"fmt"
	"strconv"
)

// JobScheduler says how the slots of a cluster are shared among its jobs. The zero one is round-robin.
type JobScheduler uint8

// The job schedulers.
const (
	JobsRoundRobin JobScheduler = iota // as many to each; what is left over to the first in order, one each
	JobsGreedy                         // all to the first job in order, as far as it can use them, then to the next
	JobsPercentage                     // by the percentages of the jobs; spare slots to the job that is furthest below its share
)

// TaskScheduler says how the slots of a job are shared among its tasks. The zero one is round-robin.
type TaskScheduler uint8

// The task schedulers.
const (
	TasksRoundRobin TaskScheduler = iota // each next slot to the unfinished task that has the fewest
	TasksGreedy                          // all to the first unfinished task, as far as it can use them, then to the next
	TasksPercentage                      // by the percentages of the unfinished tasks
)

// Slot is room for one exclusive piece of work on a member. Numbers count from 1 on each member.
type Slot struct {
	Member string
	Number int64
}

// Held is a slot that a task has. Since tells who came last: it grows with every new holding.
type Held struct {
	Slot
	Since uint64
}

// Task is a node of a job as the allocation of slots sees it.
type Task struct {
	Name string
	// Min is the fewest slots with which the task is covered; 0 means 1. Max is the most it can use; 0 means no limit, and one below
	// Min counts as Min.
	Min, Max int64
	Percent  int64 // of the slots of the job
	Finished bool  // it needs no slot any more
	Held     []Held
}

// Job is a job as the allocation of slots sees it. Jobs take their turns in order of (Since, Submitted, ID); those that were passed over
// come behind all others, in order of (Submitted, ID).
type Job struct {
	ID        string
	Submitted uint64 // grows with every submission
	Since     uint64 // when it took its place: Submitted, or the time of the plan by which it came back after it had been passed over
	Passed    bool   // its minimum could not be met: others went ahead
	Protected bool   // with fewer slots than its unfinished tasks need it gets none
	Percent   int64  // of the slots of the cluster
	Scheduler TaskScheduler
	Tasks     []Task // in topological order of the workflow
}

// Pool is the slots of a cluster and the jobs that want them: what Allocate reads. Allocate changes nothing in it.
type Pool struct {
	Scheduler JobScheduler
	Jobs      []Job
	Free      []Slot // run nothing and may be given now
	// Busy is how many slots are neither free nor held: their former work has yet to stop. They count in the shares.
	Busy int64
}

// Post is a task of a pool by its indexes; NoPost is none.
type Post struct{ Job, Task int }

// NoPost is no task: where a free slot comes from, where one goes that nobody can use.
var NoPost = Post{-1, -1}

// SlotMove gives a slot to another task, or takes it from one.
type SlotMove struct {
	Slot     Slot
	From, To Post
}

// Share is what a job gets.
type Share struct {
	Slots   int64
	Tasks   []int64 // by task
	Offered int64   // how many slots were left when its turn came: why a protected job got none
	// Uncovered: it is protected, and its minimum cannot be met.
	Uncovered bool
	// Passed is what Job.Passed is to be from now on. Where it was true and is no longer, Job.Since becomes the time of this plan.
	Passed bool
}

// Allocation is what Allocate wants.
type Allocation struct {
	Usable int64      // slots in all: free, held, busy
	Order  []int      // the jobs that have something to do, in order of their turns
	Shares []Share    // by job
	Moves  []SlotMove // first those of free slots, then those of slots that another task gives up
	// Lacking is how many of the slots of the shares are busy, and so not among the moves yet.
	Lacking int64
}

// String writes member:number.
func (s Slot) String() string { return s.Member + ":" + strconv.FormatInt(s.Number, 10) }

// Given is how many slots the shares come to.
func (a *Allocation) Given() (n int64) {
	for i := range a.Shares {
		n += a.Shares[i].Slots
	}
	return n
}

// schedulerNames are the names of both kinds of schedulers, as they stand in files, JSON and on screens.
var schedulerNames = [...]string{"round-robin", "greedy", "percentage"}

func schedulerName(i uint8) string {
	if int(i) < len(schedulerNames) {
		return schedulerNames[i]
	}
	return "unknown-" + strconv.Itoa(int(i))
}

func parseScheduler(text []byte) (uint8, error) {
	for i, n := range schedulerNames {
		if n == string(text) {
			return uint8(i), nil
		}
	}
	return 0, fmt.Errorf("%q is not a scheduler; one of %v", text, schedulerNames)
}

// String gives the name of the choice.
func (s JobScheduler) String() string { return schedulerName(uint8(s)) }

// MarshalText gives the name of the choice.
func (s JobScheduler) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads the name of a choice.
func (s *JobScheduler) UnmarshalText(text []byte) error {
	n, err := parseScheduler(text)
	*s = JobScheduler(n)
	return err
}

// String gives the name of the choice.
func (s TaskScheduler) String() string { return schedulerName(uint8(s)) }

// MarshalText gives the name of the choice.
func (s TaskScheduler) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads the name of a choice.
func (s *TaskScheduler) UnmarshalText(text []byte) error {
	n, err := parseScheduler(text)
	*s = TaskScheduler(n)
	return err
}
