package worktest

import (
	"context"
	"log/slog"
	"testing"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/work"
)

// NewGrant returns a grant of the partition "test" to the member "m1" under token 1, and its host. Fields may be
// changed before use; for another partition use NewGrantOf.
func NewGrant(tb testing.TB, d work.Definition) (*work.Grant, *Host) {
	tb.Helper()
	h := NewHost()
	return NewGrantOf(tb, h, "test", 1, d), h
}

// NewGrantOf returns a grant of partition p under token on host h; the log goes to the test's output.
func NewGrantOf(tb testing.TB, h *Host, p cluster.PartitionID, token cluster.Token, d work.Definition) *work.Grant {
	tb.Helper()
	job, task, key := p.Split()
	log := slog.New(slog.NewTextHandler(tb.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}))
	return &work.Grant{
		Partition: p, Job: job, Task: task, Key: key, Member: "m1", Token: token,
		Definition: d, Log: log.With("partition", string(p)), Host: h,
	}
}

// Run makes the type's Runner of g's definition and calls it once with the test's context. The test fails if the
// definition is refused.
func Run(tb testing.TB, t work.Type, g *work.Grant) error {
	tb.Helper()
	return RunContext(tb.Context(), tb, t, g)
}

// RunContext is like Run, with the caller's context.
func RunContext(ctx context.Context, tb testing.TB, t work.Type, g *work.Grant) error {
	tb.Helper()
	r, err := t.New(g.Definition)
	if err != nil {
		tb.Fatalf("make a runner of type %s: %v", t.Name, err)
	}
	return r.Run(ctx, g)
}
