package cluster

import (
	"errors"
	"fmt"
	"strings"

	"github.com/rota-run/rota/internal/schedule"
)

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
	// Edges form a graph of tasks without cycles. Its topological order, by place in Tasks if the edges leave a choice,
	// is the order in which the tasks get slots. Without Batch an edge delays no task: a task with an empty input waits
	// on its own.
	Edges []Edge
	// Batch makes each edge, whose ends must both be of spread pool, delay its task until the task before it is
	// finished.
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
	// Stay, for spread single and partitioned: no partition moves to even the load. They are spread evenly among
	// themselves.
	Stay bool
	// MaxAttempts is how many failures in a row park a partition; 0 means never.
	MaxAttempts int64
	Partitions  []string // initial keys when Spread is partitioned
	Definition  []byte   // JSON: every, timeout, tags, config, ...; see package work
	// For spread pool: the fewest and most slots (0: one, and no limit), and the percentage of the job's slots, if it
	// shares by percentages.
	Min, Max, Percent int64
	// Repartition, for spread pool: each run gets its index and the number of slots of the task. When the slots change,
	// all runs of the task stop before those with the new shares start.
	Repartition bool
}

// Limits of an entry. They bound what one command can cost every member.
const (
	MaxDefinition = 256 << 10 // bytes of a task's definition
	MaxTasks      = 1000      // tasks of a job
	MaxPartitions = 100_000   // initial keys of a task
	MaxLabels     = 64
	MaxText       = 4096 // bytes of a message, reason, label, address
	MaxChildren   = 1000 // children of one split
)

func checkJob(id JobID, s *JobSpec) error {
	errs := []error{at("job", CheckName(string(id))), at("spec.source", checkText(s.Source)),
		at("spec.version", checkText(s.Version))}
	switch n := len(s.Tasks); {
	case n == 0:
		errs = append(errs, errors.New("spec.tasks: empty"))
	case n > MaxTasks:
		errs = append(errs, fmt.Errorf("spec.tasks: %d tasks, at most %d are allowed", n, MaxTasks))
	}
	names := make(map[string]bool, len(s.Tasks))
	for i := range s.Tasks {
		t := &s.Tasks[i]
		path := fmt.Sprintf("spec.tasks[%d]", i)
		if t.Name != "" || len(s.Tasks) > 1 {
			errs = append(errs, at(path+".name", CheckName(t.Name)))
		}
		if names[t.Name] {
			errs = append(errs, fmt.Errorf("%s.name: duplicate %q", path, t.Name))
		}
		names[t.Name] = true
		errs = append(errs, at(path, checkTask(t)))
	}
	return errors.Join(append(errs, checkWorkflow(s))...)
}

func checkTask(t *TaskSpec) error {
	errs := []error{at("type", CheckName(t.Type)), at("weight", notNegative(t.Weight)),
		at("labels", checkLabels(t.Selector)),
		at("spread_over", checkText(t.SpreadOver)), at("attempts", notNegative(t.MaxAttempts)), checkPool(t)}
	if t.Pin != "" {
		errs = append(errs, at("pin", CheckName(string(t.Pin))))
	}
	if strings.ContainsAny(t.SpreadOver, "\x00\x01\x02\x03") {
		errs = append(errs, errors.New("spread_over: it has a control character"))
	}
	if t.Spread > SpreadPool || t.Handover > HandoverFast {
		errs = append(errs, errors.New("spread or handover: an unknown choice"))
	}
	if len(t.Definition) > MaxDefinition {
		errs = append(errs, fmt.Errorf("definition: %d bytes, at most %d are allowed", len(t.Definition),
			MaxDefinition))
	}
	if t.Spread != SpreadPartitioned && len(t.Partitions) > 0 {
		errs = append(errs, errors.New("partitions: only a task with spread partitioned has them"))
	}
	return errors.Join(append(errs, at("partitions", checkKeys(t.Partitions)))...)
}

func checkKeys(keys []string) error {
	if len(keys) > MaxPartitions {
		return fmt.Errorf("%d keys, at most %d are allowed", len(keys), MaxPartitions)
	}
	seen := make(map[string]bool, len(keys))
	for i, k := range keys {
		if err := CheckKey(k); err != nil {
			return fmt.Errorf("[%d]: %w", i, err)
		}
		if seen[k] {
			return fmt.Errorf("[%d]: duplicate key %q", i, k)
		}
		seen[k] = true
	}
	return nil
}

// The limits of workflows.
const (
	MaxEdges = 10_000 // edges of a job
	MaxSlots = 10_000 // slots of a member
)

// checkWorkflow says what is wrong with a spec as a whole; its tasks have been checked one by one.
func checkWorkflow(s *JobSpec) error {
	pool := false
	sum := int64(0)
	for i := range s.Tasks {
		pool = pool || s.Tasks[i].Spread == SpreadPool
		sum += s.Tasks[i].Percent
	}
	errs := []error{checkEdges(s), at("spec.percent", checkPercent(s.Percent))}
	errs = append(errs, checkBatch(s))
	if s.Scheduler > schedule.TasksPercentage {
		errs = append(errs, errors.New("spec.scheduler: an unknown choice"))
	}
	if !pool && (s.Scheduler != 0 || s.Coverage || s.Percent != 0) {
		errs = append(errs, errors.New("spec: scheduler, coverage and percent are for jobs with a task of spread pool"))
	}
	switch byPercent := s.Scheduler == schedule.TasksPercentage; {
	case sum > 100:
		errs = append(errs, fmt.Errorf("spec.tasks: their percentages come to %d, at most 100 are allowed", sum))
	case sum > 0 && !byPercent:
		errs = append(errs, fmt.Errorf("spec.tasks: they have percentages, but the scheduler is %s", s.Scheduler))
	case sum == 0 && byPercent:
		errs = append(errs, errors.New("spec.tasks: the scheduler is percentage, but no task has one"))
	}
	return errors.Join(errs...)
}

// checkBatch: only what runs on slots can be held back, and waited for.
func checkBatch(s *JobSpec) error {
	if !s.Batch {
		return nil
	}
	pool := make(map[string]bool, len(s.Tasks))
	for i := range s.Tasks {
		pool[s.Tasks[i].Name] = s.Tasks[i].Spread == SpreadPool
	}
	for i, e := range s.Edges {
		if !pool[e.From] || !pool[e.To] {
			return fmt.Errorf("spec.edges[%d]: in a batch both ends are of spread pool", i)
		}
	}
	if len(s.Edges) == 0 {
		return errors.New("spec.batch: it is for a job with edges")
	}
	return nil
}

func checkPercent(n int64) error {
	if n < 0 || n > 100 {
		return fmt.Errorf("%d is not between 0 and 100", n)
	}
	return nil
}

func checkEdges(s *JobSpec) error {
	if len(s.Edges) > MaxEdges {
		return fmt.Errorf("spec.edges: %d edges, at most %d are allowed", len(s.Edges), MaxEdges)
	}
	names := make(map[string]bool, len(s.Tasks))
	for i := range s.Tasks {
		names[s.Tasks[i].Name] = true
	}
	seen := make(map[Edge]bool, len(s.Edges))
	var errs []error
	for i, e := range s.Edges {
		switch {
		case !names[e.From]:
			errs = append(errs, fmt.Errorf("spec.edges[%d].from: no task is named %q", i, e.From))
		case !names[e.To]:
			errs = append(errs, fmt.Errorf("spec.edges[%d].to: no task is named %q", i, e.To))
		case seen[e]:
			errs = append(errs, fmt.Errorf("spec.edges[%d]: duplicate edge from %q to %q", i, e.From, e.To))
		}
		seen[e] = true
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	if _, cycle := topological(s); len(cycle) > 0 {
		return fmt.Errorf("spec.edges: they have a cycle: %s", strings.Join(cycle, " → "))
	}
	return nil
}

// checkPool says what is wrong with a task that is, or is not, of spread pool.
func checkPool(t *TaskSpec) error {
	if t.Spread != SpreadPool {
		if t.Min != 0 || t.Max != 0 || t.Percent != 0 {
			return errors.New("min, max and percent are for spread pool")
		}
		if t.Repartition {
			return errors.New("repartition: it is for spread pool")
		}
		return nil
	}
	errs := []error{at("min", notNegative(t.Min)), at("max", notNegative(t.Max)),
		at("percent", checkPercent(t.Percent))}
	if t.Max != 0 && t.Max < t.Min {
		errs = append(errs, fmt.Errorf("max: %d is below min, which is %d", t.Max, t.Min))
	}
	if t.Handover == HandoverNoGap {
		errs = append(errs, errors.New("handover: a slot runs one thing at a time: no-gap is not for spread pool"))
	}
	if len(t.Selector) > 0 || t.SpreadOver != "" || t.Pin != "" || t.Weight != 0 {
		errs = append(errs, errors.New("labels, spread_over, pin and weight are not for spread pool: its slots are interchangeable"))
	}
	return errors.Join(errs...)
}
