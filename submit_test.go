package rota_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/rota-run/rota"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/protocol/lease"
	"github.com/rota-run/rota/source"
	"github.com/rota-run/rota/store/memory"
)

const twoSteps = `tasks:
- {name: first, type: step, max: 1}
- {name: second, type: step, after: first, max: 1}
`

// A workflow from a file: the second task starts when the first has ended, and the job when both have.
func TestSubmitFile(t *testing.T) {
	virtual(t, func(t *testing.T, ctx context.Context) {
		told := make(chan string, 8)
		step := rota.NewType("step", func(_ context.Context, g *rota.Grant, _ struct{}) error {
			told <- g.Task
			return nil
		})
		m := joinAs(t, ctx, memory.New(), rota.Config{Member: "a", Types: []rota.Type{step}, Slots: 3})
		job, err := m.SubmitFile(ctx, "jobs/etl.yaml", []byte(twoSteps))
		if err != nil || job != "etl" {
			t.Fatalf("%q, %v", job, err)
		}
		must.Succeed(t, m.Wait(ctx, job))
		expect(t, ctx, told, "first")
		expect(t, ctx, told, "second")
		if _, err := m.SubmitFile(ctx, "etl.yaml", []byte(twoSteps)); err != nil || len(told) > 0 {
			t.Errorf("again: %v, %d runs", err, len(told))
		}

		_, err = m.SubmitFile(ctx, "etl.yaml", []byte(strings.Replace(twoSteps, "after: first", "after: frist", 1)))
		var malformed *source.MalformedError
		if !errors.As(err, &malformed) || malformed.Line != 3 || malformed.Hint != `did you mean "first"?` {
			t.Errorf("got %v", err)
		}
	})
}

// Under the protocol lease members hear of a job from the leader. Each that has submitted it waits for its end at once,
// also the second one, which finds it there.
func TestSubmitThenWaitByClaims(t *testing.T) {
	virtual(t, func(t *testing.T, ctx context.Context) {
		server := memory.New()
		step := rota.NewType("step", func(context.Context, *rota.Grant, struct{}) error { return nil })
		ended := make(chan error, 2)
		for _, name := range []string{"a", "b"} {
			m := joinAs(t, ctx, server, rota.Config{Member: name, Types: []rota.Type{step}, Slots: 3,
				Protocol: lease.Protocol{}})
			go func() {
				job, err := m.SubmitFile(ctx, "etl.yaml", []byte(twoSteps))
				ended <- errors.Join(err, m.Wait(ctx, job))
			}()
		}
		for range 2 {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	})
}
