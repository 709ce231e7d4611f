package rota

import (
	"context"
	"errors"
	"fmt"

	"github.com/rota-run/rota/cluster"
)

// JobError says why a job was not completed, or cannot continue.
type JobError struct {
	Job     string
	State   string // killed, failed, parked, or unknown: there is no such job, or not any more
	Message string // why, where that is known
}

// Error names job and state.
func (e *JobError) Error() string {
	if e.Message == "" {
		return fmt.Sprintf("job %q is %s", e.Job, e.State)
	}
	return fmt.Sprintf("job %q is %s: %s", e.Job, e.State, e.Message)
}

// The states of a [JobError] that are not states of jobs.
const (
	jobParked  = "parked"
	jobUnknown = "unknown"
)

// Wait returns when a job has ended and nothing of it runs any more: nil when all of it is done, else a *[JobError]. It
// returns one too when the job cannot go on because all that is left of it is parked; see [Member.Unpark]. What any
// process has submitted before counts, also what this member has yet to hear of.
func (m *Member) Wait(ctx context.Context, job string) error {
	w := waiter{job: cluster.JobID(job)}
	if over, _ := w.look(m.Value()); over {
		if err := m.catchUp(ctx, w.job); err != nil {
			return fmt.Errorf("wait for job %q: %w", job, err)
		}
	}
	for {
		changed := m.node.Changed()
		if over, err := w.look(m.Value()); over {
			return err
		}
		if err := m.until(ctx, changed); err != nil {
			return fmt.Errorf("wait for job %q: %w", job, err)
		}
	}
}

// catchUp returns when this member has heard of the job as the store has it. A member that has ended hears no more.
func (m *Member) catchUp(ctx context.Context, job cluster.JobID) error {
	select {
	case <-m.done:
		return nil
	default:
	}
	there, err := m.node.Latest(ctx)
	if err != nil {
		if _, known := m.Value().Job(job); known {
			return nil
		}
		return fmt.Errorf("look for it: %w", err)
	}
	latest, _ := there.Job(job)
	for {
		changed := m.node.Changed()
		if mine, _ := m.Value().Job(job); mine.SpecIndex >= latest.SpecIndex {
			return nil
		}
		if err := m.until(ctx, changed); err != nil {
			return err
		}
	}
}

// until waits for a change.
func (m *Member) until(ctx context.Context, changed <-chan struct{}) error {
	select {
	case <-changed:
		return nil
	case <-m.done:
		return fmt.Errorf("the member has ended: %w", errors.Join(m.err, context.Canceled))
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// waiter looks for the end of a job. It remembers a partition that was alive at the last look, so that a look at a
// large job is cheap.
type waiter struct {
	job   cluster.JobID
	alive cluster.PartitionID
}

func (w *waiter) look(v cluster.Value) (over bool, err error) {
	j, ok := v.Job(w.job)
	fault := &JobError{Job: string(w.job), State: jobUnknown}
	switch {
	case !ok:
		return true, fault
	case j.State == cluster.JobRunning:
		parked := w.parked(v)
		fault.State, fault.Message = jobParked, parked
		return parked != "", fault
	case w.runs(v):
		return false, nil
	case j.State == cluster.JobCompleted:
		return true, nil
	}
	fault.State, fault.Message = j.State.String(), j.Message
	return true, fault
}

// runs tells whether some member still runs a partition of the job.
func (w *waiter) runs(v cluster.Value) bool {
	return w.any(v, func(p cluster.Partition) bool { return p.Owner != "" })
}

// parked says why nothing that is left of the job can go on; "" if something can.
func (w *waiter) parked(v cluster.Value) string {
	why := ""
	goesOn := w.any(v, func(p cluster.Partition) bool {
		if p.State == cluster.PartitionParked && why == "" {
			why = fmt.Sprintf("%s failed %d times: %s", p.ID, p.Attempts, p.Message)
		}
		return p.State != cluster.PartitionParked &&
			p.State != cluster.PartitionFinished && p.State != cluster.PartitionBlocked
	})
	if goesOn {
		return ""
	}
	return why
}

// any tells whether a partition of the job is such.
func (w *waiter) any(v cluster.Value, is func(cluster.Partition) bool) bool {
	if p, ok := v.Partition(w.alive); ok && is(p) {
		return true
	}
	for p := range v.PartitionsOf(w.job) {
		if is(p) {
			w.alive = p.ID
			return true
		}
	}
	return false
}
