package logqueue_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/store"
)

// TestFormerRecords: a flow that an earlier version has written is refused with the way out, not taken for an empty one.
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
}

// TestSealInOneCall: what a call puts into a shard behind its own seal is refused.
func TestSealInOneCall(t *testing.T) {
	t.Parallel()
	ctx, h, e := t.Context(), open(t)(t), store.Shard{Edge: "e"}
	must.Succeed(t, h.MakeFlow(ctx, "f", []store.Shard{e}))
	_, err := h.Commit(ctx, "f", store.Unit{Name: "seal", Outputs: []store.Put{{Shard: e, Seal: true}}},
		store.Unit{Name: "late", Outputs: []store.Put{{Shard: e, Data: []byte("x")}}})
	if !errors.Is(err, store.ErrSealed) {
		t.Errorf("behind a seal of the same call: %v", err)
	}
}
