package logqueue_test

import (
	"strings"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/store"
)

// TestFormerRecords: a flow that an earlier version has written is refused with the way out, not taken for an empty
// one. What is no record of a queue changes nothing.
func TestFormerRecords(t *testing.T) {
	t.Parallel()
	ctx, h := t.Context(), open(t)(t)
	h.logs.first = []byte{1, 'x'}
	err := h.MakeFlow(ctx, "f", []store.Shard{{Edge: "e"}})
	if err == nil || !strings.Contains(err.Error(), "submit it again") {
		t.Errorf("a flow of an earlier version: %v", err)
	}
	h.logs.first = []byte("of another program")
	must.Succeed(t, h.MakeFlow(ctx, "g", []store.Shard{{Edge: "e"}}))
}
