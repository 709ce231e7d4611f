package rota

import (
	"context"
	"fmt"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/node"
	"github.com/rota-run/rota/internal/operate"
	"github.com/rota-run/rota/internal/view"
)

// Kill ends a job: its tasks stop. [Member.Wait] returns when they have. One of a task file is refused while a member
// has its source, which would submit it again: remove the file, or pause the job.
func (m *Member) Kill(ctx context.Context, job string) error {
	return m.ask(ctx, fmt.Sprintf("kill job %q", job),
		func(ctx context.Context) (operate.Answer, error) { return m.ops.Kill(ctx, cluster.JobID(job)) })
}

// Pause takes the tasks of a job from their members, under their hand-over contract, until Resume.
func (m *Member) Pause(ctx context.Context, job string) error {
	return m.ask(ctx, fmt.Sprintf("pause job %q", job),
		func(ctx context.Context) (operate.Answer, error) { return m.ops.Pause(ctx, cluster.JobID(job)) })
}

// Resume ends a pause.
func (m *Member) Resume(ctx context.Context, job string) error {
	return m.ask(ctx, fmt.Sprintf("resume job %q", job),
		func(ctx context.Context) (operate.Answer, error) { return m.ops.Resume(ctx, cluster.JobID(job)) })
}

// RunNow has the owner of a task begin a round at once, or when its present round is over; the planned rounds stay as
// they are. The task is named as for Unpark; a job is all of its partitions. It is an error of kind [ErrRefused] where
// the task is paused, or has no rounds. If the owner stops before the round is over, the next one runs it: at least
// once.
func (m *Member) RunNow(ctx context.Context, task string) error {
	return m.ask(ctx, fmt.Sprintf("run %q now", task), func(ctx context.Context) (operate.Answer, error) {
		_, a, err := m.ops.RunNow(ctx, task)
		return a, err
	})
}

// Unpark gives a partition that failed too often another row of attempts. It is named as everywhere: "job", "job/task",
// "job#key" or "job/task#key".
func (m *Member) Unpark(ctx context.Context, partition string) error {
	return m.ask(ctx, fmt.Sprintf("unpark %q", partition), func(ctx context.Context) (operate.Answer, error) {
		return m.ops.Unpark(ctx, cluster.PartitionID(partition))
	})
}

// Drain moves the tasks of a member away, under their hand-over contract, and gives it no more until Undrain, also when
// it restarts.
func (m *Member) Drain(ctx context.Context, member string) error {
	return m.ask(ctx, fmt.Sprintf("drain member %q", member), func(ctx context.Context) (operate.Answer, error) {
		return m.ops.Drain(ctx, cluster.MemberID(member))
	})
}

// Undrain gives a drained member tasks again; one that is down takes them when it is back.
func (m *Member) Undrain(ctx context.Context, member string) error {
	return m.ask(ctx, fmt.Sprintf("undrain member %q", member), func(ctx context.Context) (operate.Answer, error) {
		return m.ops.Undrain(ctx, cluster.MemberID(member))
	})
}

// ask asks until ctx or the member has ended.
func (m *Member) ask(ctx context.Context, what string, do func(ctx context.Context) (operate.Answer, error)) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	defer context.AfterFunc(m.ended, func() { end(context.Cause(m.ended)) })()
	if _, err := do(ctx); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// OwnerOf is the member that owns a partition of a job of one task now, as this member sees it, and its token; "" while
// it has no owner. The key is "" for a task of spread Single. The answer may be old when it arrives: what must not be
// done by two needs the token.
func (m *Member) OwnerOf(job, key string) (member string, token Token) {
	p, _ := m.Value().Partition(cluster.NewPartitionID(cluster.JobID(job), "", key))
	return string(p.Owner), p.Token
}

// Name is the member's name.
func (m *Member) Name() string { return m.name }

// Metric is a family of measurements of a member: Name, Help, Kind ("gauge", "counter" or "histogram") and Values, each
// with a Value and, where the family has a Label, the text of that. One of kind "histogram" has Durations in place of
// Values: Count, Sum, and Upto, how many took at most 1, 5, 10, 50, 100, 250, 500 ms, 1, 2.5, 5, 10, 30, 60 and 600 s.
type Metric = node.Metric

// Metrics measures this member now, as plain data for the metrics library of the program. Names and labels are those of
// the page docs/reference/metrics.md.
func (m *Member) Metrics() []Metric { return append(m.node.Metrics(), view.Metrics(m.node.Value())...) }

type memberKey struct{}

// MemberFrom is the member that runs the task or function that ctx belongs to; nil for any other ctx, and in the
// command rota and the binaries of package rotacmd, which have no Member.
func MemberFrom(ctx context.Context) *Member {
	m, _ := ctx.Value(memberKey{}).(*Member)
	return m
}
