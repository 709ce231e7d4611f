package rota

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/rota-run/rota/cluster"
)

// Why Submit, SubmitFile and Apply leave a job as it is.
var (
	// ErrOlder is what Apply returns when a higher version of the job is there: this replica of the service is the older one, and has nothing to do.
	ErrOlder = errors.New("a higher version is there")
	// ErrKilled is what they return when the job was killed: it stays so until SubmitAgain.
	ErrKilled = errors.New("the job was killed, and stays so until it is submitted again by SubmitAgain")
)

// applyTries bounds how often a change is decided again because the job has changed meanwhile.
const applyTries = 8

// Apply makes sure that the job runs by this task, and tells whether that changed anything. Where there is no such job it is submitted. Where there is one
// with a lower Task.Version, it goes on by this task: partitions stay where they are, those that run are stopped and started by the new definition. The same
// version with the same task changes nothing, also when the job is completed.
//
// All replicas of a service may call it when they start. While old and new ones run side by side, the higher version stands: the call of an older one
// changes nothing and returns [ErrOlder]. The same version with another task is refused ([ErrRefused]), so two replicas cannot take turns; a job that was
// killed stays killed ([ErrKilled]).
func (m *Member) Apply(ctx context.Context, job string, t Task) (changed bool, err error) {
	spec, err := t.spec(job, m.types)
	if err != nil {
		return false, fmt.Errorf("apply job %q: %w", job, err)
	}
	changed, err = m.change(ctx, cluster.JobID(job), func(old *cluster.Job) (cluster.Command, error) {
		return apply(old, cluster.JobID(job), spec, t.Version)
	})
	if err != nil {
		return false, fmt.Errorf("apply job %q: %w", job, err)
	}
	return changed, nil
}

// apply decides what Apply writes; nil for nothing.
func apply(old *cluster.Job, id cluster.JobID, spec cluster.JobSpec, version int64) (cluster.Command, error) {
	if old == nil {
		return submit(old, id, spec)
	}
	var was int64
	if v := old.Spec.Version; v != "" {
		var err error
		if was, err = strconv.ParseInt(v, 10, 64); err != nil {
			return nil, fmt.Errorf("%w: version %q of the job is not a number: it is not of Apply", ErrRefused, v)
		}
	}
	switch {
	case old.State == cluster.JobKilled:
		return nil, ErrKilled
	case version < was:
		return nil, fmt.Errorf("%w: %d, this is %d", ErrOlder, was, version)
	case cluster.SameSpec(old.Spec, &spec):
		return nil, nil
	case version == was:
		return nil, fmt.Errorf("%w: version %d is there with another definition: a change needs a higher Version", ErrRefused, version)
	case old.State == cluster.JobRunning:
		return cluster.UpdateJob{Job: id, Spec: spec, Expected: expect(old)}, nil
	}
	return submit(old, id, spec)
}

// submit decides what Submit writes. A job that was killed stays so, also when a client repeats a submission whose outcome it does not know.
func submit(old *cluster.Job, id cluster.JobID, spec cluster.JobSpec) (cluster.Command, error) {
	if old != nil && cluster.SameSpec(old.Spec, &spec) {
		switch old.State {
		case cluster.JobKilled:
			return nil, ErrKilled
		case cluster.JobRunning, cluster.JobCompleted:
			return nil, nil
		}
	}
	return cluster.SubmitJob{Job: id, Spec: spec, Expected: expect(old)}, nil
}

// expect says that the job is as it was seen: nothing that others did meanwhile is undone.
func expect(old *cluster.Job) cluster.Expected { return cluster.Expect(indexOf(old)) }

func indexOf(old *cluster.Job) cluster.Index {
	if old == nil {
		return 0
	}
	return old.SpecIndex
}

// change decides by what this member sees of a job, and again when the job has changed meanwhile.
func (m *Member) change(ctx context.Context, id cluster.JobID, decide func(old *cluster.Job) (cluster.Command, error)) (changed bool, err error) {
	for range applyTries {
		next := m.node.Changed()
		old := m.job(id)
		c, err := decide(old)
		if err != nil || c == nil {
			return false, err
		}
		res, err := m.node.Propose(ctx, c)
		switch {
		case err != nil:
			return false, err
		case len(res) != 1:
			return false, errors.New("the cluster gave no answer")
		case res[0].Accepted:
			return true, m.shows(ctx, id, old)
		}
		if res[0].Reason != cluster.NotExpected {
			return false, fmt.Errorf("%w: %s", ErrRefused, res[0].Reason)
		}
		for indexOf(m.job(id)) == indexOf(old) { // what has changed it is on its way here
			select {
			case <-next:
				next = m.node.Changed()
			case <-m.done:
				return false, errors.Join(m.err, context.Canceled)
			case <-ctx.Done():
				return false, context.Cause(ctx)
			}
		}
	}
	return false, fmt.Errorf("%w: others change it all the time", ErrRefused)
}

// shows waits until this member knows a job that was not there before: under the protocol lease it hears of it from the leader, a moment after the store has
// it, and the next call may wait for its end.
func (m *Member) shows(ctx context.Context, id cluster.JobID, old *cluster.Job) error {
	for old == nil {
		next := m.node.Changed()
		if m.job(id) != nil {
			return nil
		}
		select {
		case <-next:
		case <-m.done:
			return errors.Join(m.err, context.Canceled)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

func (m *Member) job(id cluster.JobID) *cluster.Job {
	if j, ok := m.Value().Job(id); ok {
		return &j
	}
	return nil
}
