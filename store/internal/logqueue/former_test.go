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
	j, err := h.OpenJournal(ctx, "f", true)
	must.Succeed(t, err)
	_, err = j.(*journal).Store.Append(ctx, []byte{1, 'x'})
	must.Succeed(t, err)
	err = h.MakeFlow(ctx, "f", []store.Shard{{Edge: "e"}})
	if err == nil || !strings.Contains(err.Error(), "submit it again") {
		t.Errorf("a flow of an earlier version: %v", err)
	}
	j = must.Get(h.OpenJournal(ctx, "g", true))(t)
	must.Succeed(t, must.Err(j.(*journal).Store.Append(ctx, []byte("of another program"))))
	must.Succeed(t, h.MakeFlow(ctx, "g", []store.Shard{{Edge: "e"}}))
}
