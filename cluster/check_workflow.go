package cluster

import (
	"errors"
	"fmt"
	"strings"

	"github.com/rota-run/rota/schedule"
)

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

func checkScheduler(name string) error {
	var s schedule.JobScheduler
	if name == "" {
		return nil
	}
	return s.UnmarshalText([]byte(name))
}
