package schedule

import (
	"fmt"
	"strconv"
	"strings"
)

// JobScheduler is how the jobs of a cluster share its slots. The zero value is round-robin.
type JobScheduler uint8

// The job schedulers.
const (
	JobsRoundRobin JobScheduler = iota // equally many to each; the rest to the first ones in order, one each
	JobsGreedy                         // all to the first job in order, as far as it can use them, then to the next
	JobsPercentage                     // by the percentages of the jobs; spare slots to the job that is furthest below its share
)

// TaskScheduler is how the tasks of a job share its slots. The zero value is round-robin.
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

// Held is a slot that a task has. Since grows with every new holding, so it orders slots by age.
type Held struct {
	Slot
	Since uint64
}

// Task is a node of a job in the allocation of slots.
type Task struct {
	Name string
	// Min is the fewest slots with which the task is covered; 0 means 1. Max is the most it can use; 0 means no limit,
	// and one below Min counts as Min.
	Min, Max int64
	Percent  int64 // of the slots of the job
	Finished bool  // it needs no more slots
	Held     []Held
}

// Job is a job in the allocation of slots. Jobs take their turns in order of (Since, Submitted, ID); jobs that were
// passed over come after all others, in order of (Submitted, ID).
type Job struct {
	ID        string
	Submitted uint64 // grows with every submission
	Since     uint64 // when it took its place: Submitted, or the time of the plan that covered it again after it had been passed over
	Passed    bool   // its minimum could not be met: other jobs went first
	Protected bool   // it gets no slots if there are fewer than its unfinished tasks need
	Percent   int64  // of the slots of the cluster
	Scheduler TaskScheduler
	Tasks     []Task // in topological order of the workflow
}

// Pool is the slots of a cluster and the jobs that need them: the input of Allocate, which does not change it.
type Pool struct {
	Scheduler JobScheduler
	Jobs      []Job
	Free      []Slot // idle, may be given now
	// Busy is how many slots are neither free nor held: their former work has yet to stop. They count in the shares.
	Busy int64
}

// Post identifies a task of a pool by its indexes; NoPost is none.
type Post struct{ Job, Task int }

// NoPost is no task: the source of a free slot, and the target of an unused one.
var NoPost = Post{-1, -1}

// SlotMove gives a slot to another task, or takes it from one.
type SlotMove struct {
	Slot     Slot
	From, To Post
}

// Share is the share of a job.
type Share struct {
	Slots   int64
	Tasks   []int64 // by task
	Offered int64   // slots left at its turn: explains why a protected job got none
	// Uncovered: the job is protected, and its minimum cannot be met.
	Uncovered bool
	// Passed is the new Job.Passed. If it changes from true to false, Job.Since becomes the time of this plan.
	Passed bool
}

// Allocation is the result of Allocate.
type Allocation struct {
	Usable int64      // slots in all: free, held, busy
	Order  []int      // the jobs with work, in order of their turns
	Shares []Share    // by job
	Moves  []SlotMove // first those of free slots, then those of slots that another task gives up
	// Lacking is how many slots of the shares are busy, and so not among the moves yet.
	Lacking int64
}

// String returns member:number.
func (s Slot) String() string { return s.Member + ":" + strconv.FormatInt(s.Number, 10) }

// Given is the sum of the shares.
func (a *Allocation) Given() (n int64) {
	for i := range a.Shares {
		n += a.Shares[i].Slots
	}
	return n
}

// schedulerNames are the names of both kinds of schedulers in files, JSON and on screens.
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
	return 0, fmt.Errorf("%q is not a scheduler; one of %s", text, strings.Join(schedulerNames[:], ", "))
}

// String returns the name.
func (s JobScheduler) String() string { return schedulerName(uint8(s)) }

// MarshalText returns the name.
func (s JobScheduler) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads a name.
func (s *JobScheduler) UnmarshalText(text []byte) error {
	n, err := parseScheduler(text)
	*s = JobScheduler(n)
	return err
}

// String returns the name.
func (s TaskScheduler) String() string { return schedulerName(uint8(s)) }

// MarshalText returns the name.
func (s TaskScheduler) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads a name.
func (s *TaskScheduler) UnmarshalText(text []byte) error {
	n, err := parseScheduler(text)
	*s = TaskScheduler(n)
	return err
}

// divide shares the slots of a job among its tasks, into out.
func (s *sharing) divide(job *Job, slots int64, out []int64) {
	if job.Scheduler == TasksRoundRobin && !job.Protected && s.divideEvenly(job, slots, out) {
		return
	}
	s.claimTasks(job, slots)
	if job.Scheduler == TasksGreedy {
		s.fillInTurn(slots)
	} else {
		more := fill(s.tasks, slots, stepOf(job.Scheduler == TasksPercentage))
		s.among.choose(s.tasks, more, func(i int) int64 {
			if s.tasks[i].held > s.tasks[i].got {
				return -1
			}
			return 0
		})
	}
	i := 0
	for t := range job.Tasks {
		out[t] = 0
		if !job.Tasks[t].Finished {
			out[t] = s.tasks[i].got
			i++
		}
	}
}

// claimTasks sets up a claim for each unfinished task. Where the job is not protected, minima are served as far as the
// slots go, the earliest first, and a task that names none has none.
func (s *sharing) claimTasks(job *Job, slots int64) {
	s.tasks = s.tasks[:0]
	left := slots
	for t := range job.Tasks {
		task := &job.Tasks[t]
		if task.Finished {
			continue
		}
		c := claim{lo: max(0, task.Min), hi: slots, held: int64(len(task.Held))}
		if job.Protected {
			c.lo = max(1, c.lo)
		}
		if task.Max > 0 {
			c.hi = max(1, task.Min, task.Max)
		}
		if job.Scheduler == TasksPercentage {
			c.head = due(slots, task.Percent)
		}
		c.lo = min(c.lo, left)
		left -= c.lo
		s.tasks = append(s.tasks, c)
	}
}

// fillInTurn is the greedy task scheduler.
func (s *sharing) fillInTurn(slots int64) {
	for i := range s.tasks {
		s.tasks[i].got = s.tasks[i].lo
		slots -= s.tasks[i].lo
	}
	for i := range s.tasks {
		c := &s.tasks[i]
		more := min(slots, max(0, c.hi-c.got))
		c.got += more
		slots -= more
	}
}

// divideEvenly is fill where no task has limits; false if one has.
func (s *sharing) divideEvenly(job *Job, slots int64, out []int64) bool {
	live, above := int64(0), int64(0)
	for t := range job.Tasks {
		if task := &job.Tasks[t]; !task.Finished {
			live++
			if task.Min > 0 || task.Max > 0 {
				return false
			}
		}
	}
	if live == 0 {
		return false
	}
	each, more := slots/live, slots%live
	for t := range job.Tasks {
		if task := &job.Tasks[t]; !task.Finished && int64(len(task.Held)) > each {
			above++
		}
	}
	keep := min(above, more) // first those that give up a slot less by it
	more -= keep
	for t := range job.Tasks {
		task := &job.Tasks[t]
		out[t] = 0
		if task.Finished {
			continue
		}
		out[t] = each
		switch has := int64(len(task.Held)) > each; {
		case has && keep > 0:
			out[t]++
			keep--
		case !has && more > 0:
			out[t]++
			more--
		}
	}
	return true
}
