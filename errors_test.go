package rota_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/rota-run/rota"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/store/memory"
)

// TestErrorsOfATask: whatever error a task returns, it counts as a failure: the task is tried again, and parked in the
// end.
func TestErrorsOfATask(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"long":        {errors.New(long), long[:4000]},
		"nil pointer": {(*rota.JobError)(nil), "panic: runtime error: invalid memory address"},
	} {
		t.Run(name, func(t *testing.T) {
			virtual(t, func(t *testing.T, ctx context.Context) {
				runs := 0
				typ := rota.NewType("fail", func(context.Context, *rota.Grant, struct{}) error {
					runs++
					return c.err
				})
				m := join(t, ctx, memory.New(), "a", typ)
				must.Succeed(t, m.Submit(ctx, "job", rota.Task{Type: "fail", MaxAttempts: 3}))
				err := m.Wait(ctx, "job")
				wantEnd(t, err, "parked")
				if runs != 3 || !strings.Contains(err.Error(), c.want) {
					t.Errorf("%d runs, and %.200v", runs, err)
				}
			})
		})
	}
}
