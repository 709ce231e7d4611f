package rota

import (
	"context"
	"fmt"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/operate"
)

// Why Submit, SubmitFile and Apply leave a job as it is.
var (
	// ErrOlder is returned by Apply when the job has a higher version: this replica of the service is the older one.
	ErrOlder = operate.ErrOlder
	// ErrKilled is returned when the job was stopped. Only SubmitAgain starts it again.
	ErrKilled = operate.ErrKilled
)

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
	err = m.ask(ctx, fmt.Sprintf("apply job %q", job), func(ctx context.Context) (operate.Answer, error) {
		a, err := m.ops.Apply(ctx, cluster.JobID(job), spec, t.Version)
		changed = a.Changed
		return a, err
	})
	return changed, err
}
