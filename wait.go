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
// returns one too when the job cannot go on because all that is left of it is parked; see [Member.Unpark].
func (m *Member) Wait(ctx context.Context, job string) error {
	w := waiter{job: cluster.JobID(job)}
	for {
		changed := m.node.Changed()
		if over, err := w.look(m.Value()); over {
			return err
		}
		select {
		case <-changed:
		case <-m.done:
			return fmt.Errorf("wait for job %q: the member has ended: %w", job, errors.Join(m.err, context.Canceled))
		case <-ctx.Done():
			return fmt.Errorf("wait for job %q: %w", job, context.Cause(ctx))
		}
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
