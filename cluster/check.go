package cluster

import (
	"errors"
	"fmt"
	"slices"
	"strings"
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

// CheckCommand reports why a command can never be accepted, whatever the value, or nil. The error begins with the path of the fault:
// "spec.tasks[2].weight: -5 is negative".
func CheckCommand(c Command) error {
	switch c := c.(type) {
	case PrepareJoin:
		return checkPrepareJoin(&c)
	case AcceptJoin:
		return errors.Join(at("member", CheckName(string(c.Member))), at("by", CheckName(string(c.By))))
	case AbortJoin:
		return at("member", CheckName(string(c.Member)))
	case LeaveCluster:
		return errors.Join(at("member", CheckName(string(c.Member))), at("reason", checkText(c.Reason)))
	case ConfirmMember:
		return errors.Join(at("member", CheckName(string(c.Member))), at("pulse", checkHeartbeat(c.Heartbeat)))
	case ReleaseHold:
		return at("member", CheckName(string(c.Member)))
	case DrainMember:
		return at("member", CheckName(string(c.Member)))
	case FinishPartition:
		return at("message", checkText(c.Message))
	case SplitPartition:
		return checkChildren(c.Children)
	case AdvanceWindow:
		return checkAdvance(&c)
	case Configure:
		return checkConfigure(c)
	case Lead:
		return errors.Join(at("member", CheckName(string(c.Member))), at("offer_ms", notNegative(c.OfferMS)))
	case Epoch:
		return checkEpoch(&c)
	case Own:
		return checkOwn(&c)
	case Place:
		if c.Placement > PlacementShared {
			return errors.New("placement: an unknown choice")
		}
	}
	return checkJobCommand(c)
}

// checkJobCommand checks the commands about a job as a whole.
func checkJobCommand(c Command) error {
	switch c := c.(type) {
	case SubmitJob:
		return checkJob(c.Job, &c.Spec)
	case UpdateJob:
		return checkJob(c.Job, &c.Spec)
	case KillJob:
		return at("job", CheckName(string(c.Job)))
	case PauseJob:
		if c.By == "" {
			return errors.New("by: it is empty")
		}
		return errors.Join(at("job", CheckName(string(c.Job))), at("by", checkText(c.By)))
	case ResumeJob:
		return at("job", CheckName(string(c.Job)))
	}
	return nil // Started, Stopped, Unpark, offers: nothing to check but what the value knows
}

func at(path string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", path, err)
}

func checkText(s string) error {
	if len(s) > MaxText {
		return fmt.Errorf("%d bytes, at most %d are allowed", len(s), MaxText)
	}
	return nil
}

func notNegative(n int64) error {
	if n < 0 {
		return fmt.Errorf("%d is negative", n)
	}
	if n > 1<<31 {
		return fmt.Errorf("%d is above %d", n, 1<<31)
	}
	return nil
}

func checkConfigure(c Configure) error {
	return errors.Join(at("move_budget", notNegative(c.MoveBudget)), at("retention", notNegative(c.Retention)),
		at("job_scheduler", checkScheduler(c.JobScheduler)))
}

func checkPrepareJoin(c *PrepareJoin) error {
	err := errors.Join(at("member", CheckName(string(c.Member))), at("slots", checkSlots(c.Slots)),
		at("weight", notNegative(c.Weight)), at("capacity", notNegative(c.Capacity)), at("labels", checkLabels(c.Labels)),
		at("pulse", checkHeartbeat(c.Heartbeat)), at("address", checkText(c.Address)), at("version", checkText(c.Version)))
	return err
}

func checkSlots(n int64) error {
	if n > MaxSlots {
		return fmt.Errorf("%d is above %d", n, MaxSlots)
	}
	return notNegative(n)
}

func checkHeartbeat(key string) error {
	if key == "" {
		return errors.New("it is empty")
	}
	return checkText(key)
}

func checkLabels(labels []Label) error {
	if len(labels) > MaxLabels {
		return fmt.Errorf("%d labels, at most %d are allowed", len(labels), MaxLabels)
	}
	for i, l := range labels {
		if l.Key == "" || len(l.Key) > maxName || len(l.Value) > MaxText || strings.ContainsAny(l.Key+l.Value, "\x00\x01\x02\x03") {
			return fmt.Errorf("[%d]: the label %.40q=%.40q is empty, too long, or has a control character", i, l.Key, l.Value)
		}
		if i > 0 && labels[i-1].Key >= l.Key {
			return fmt.Errorf("[%d]: %q does not follow %q: labels must be sorted, without duplicate keys", i, l.Key, labels[i-1].Key)
		}
	}
	return nil
}

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

func checkChildren(children []Child) error {
	if len(children) == 0 || len(children) > MaxChildren {
		return fmt.Errorf("children: %d, between 1 and %d are allowed", len(children), MaxChildren)
	}
	for i, c := range children {
		path := fmt.Sprintf("children[%d]", i)
		if err := CheckKey(c.Key); err != nil {
			return at(path+".key", err)
		}
		if len(c.Parents) > MaxChildren || !slices.IsSorted(c.Parents) {
			return fmt.Errorf("%s.parents: they are not sorted, or too many", path)
		}
		if slices.ContainsFunc(children[:i], func(o Child) bool { return o.Key == c.Key }) {
			return fmt.Errorf("%s.key: duplicate %q", path, c.Key)
		}
	}
	return nil
}
