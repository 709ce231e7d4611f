package tasks_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/work/stage"
	"github.com/rota-run/rota/tasks"
	"github.com/rota-run/rota/work"
)

// orders are a hundred segments of some 120 bytes.
func orders() [][]byte {
	out := make([][]byte, 100)
	for i := range out {
		out[i] = fmt.Appendf(nil,
			`{"id":%d,"name":"order %d","price":%d,"tags":["a","b"],"note":"some text that is handed on by nobody at all"}`, i, i, i*7)
	}
	return out
}

// BenchmarkExpression maps batches of a hundred segments: with an expression of a job file, and with a loop written by
// hand for this very mapping.
func BenchmarkExpression(b *testing.B) {
	in := orders()
	run := func(do func(context.Context, *work.Grant, [][]byte, *stage.Out) error) func(*testing.B) {
		return func(b *testing.B) {
			for b.Loop() {
				must.Succeed(b, do(b.Context(), nil, in, &stage.Out{}))
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(in)), "ns/segment")
		}
	}
	r, err := tasks.Builtin(tasks.Options{})["map"].New(definition(`{"expr":"{\"id\": it.id, \"total\": it.price * 2, \"name\": it.name}"}`))
	must.Succeed(b, err)
	b.Run("expression", run(r.(stage.Stage).Do))
	b.Run("by hand", run(func(_ context.Context, _ *work.Grant, in [][]byte, out *stage.Out) error {
		for _, s := range in {
			var from struct {
				ID    int64  `json:"id"`
				Name  string `json:"name"`
				Price int64  `json:"price"`
			}
			if err := json.Unmarshal(s, &from); err != nil {
				return err
			}
			to, err := json.Marshal(map[string]any{"id": from.ID, "total": from.Price * 2, "name": from.Name})
			if err != nil {
				return err
			}
			if err := out.Send(to, nil); err != nil {
				return err
			}
		}
		return nil
	}))
}
