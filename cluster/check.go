package cluster

import (
	"errors"
	"fmt"
	"strings"

	"github.com/rota-run/rota/internal/schedule"
)

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
	errs := []error{at("job", CheckName(string(id))), at("spec.source", checkText(s.Source)), at("spec.version", checkText(s.Version))}
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
	errs := []error{at("type", CheckName(t.Type)), at("weight", notNegative(t.Weight)), at("labels", checkLabels(t.Selector)),
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
		errs = append(errs, fmt.Errorf("definition: %d bytes, at most %d are allowed", len(t.Definition), MaxDefinition))
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
		case e.From == e.To:
			errs = append(errs, fmt.Errorf("spec.edges[%d]: from %q to itself", i, e.From))
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
	errs := []error{at("min", notNegative(t.Min)), at("max", notNegative(t.Max)), at("percent", checkPercent(t.Percent))}
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
