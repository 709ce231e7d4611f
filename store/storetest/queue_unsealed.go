package storetest

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/rota-run/rota/store"
)

// queueUnsealed: a unit and the seal of its output's shard are written at the same time. Either the unit is refused, or who sees the seal sees its message.
func queueUnsealed[S store.Queue](t *testing.T, open Open[S]) {
	writer, sealer, ctx := pair(t, open)
	const rounds = 12
	shards := []store.Shard{in}
	for i := range rounds {
		shards = append(shards, store.Shard{Edge: "race", Number: i})
	}
	succeed(t, "make flow", writer.MakeFlow(ctx, flowName, shards))
	for round, to := range shards[1:] {
		putMessages(t, ctx, writer, in, fmt.Sprint("round ", round))
		got := take(t, ctx, writer, in, 1)
		u := store.Unit{Inputs: got, Outputs: []store.Put{{Shard: to, Segments: 1, Data: []byte("x")}}}
		var written, sealed error
		var seen []store.Depth
		var wg sync.WaitGroup
		wg.Go(func() { _, written = writer.Commit(ctx, flowName, u) })
		wg.Go(func() {
			_, sealed = sealer.Commit(ctx, flowName, store.Unit{Name: "seal/" + fmt.Sprint(round), Outputs: []store.Put{{Shard: to, Seal: true}}})
			if sealed == nil {
				seen, sealed = sealer.Depth(ctx, flowName, to)
			}
		})
		wg.Wait()
		switch {
		case sealed != nil:
			t.Fatalf("seal: %v", sealed)
		case written != nil && !errors.Is(written, store.ErrSealed):
			t.Fatalf("commit: %v", written)
		case written == nil && seen[0].Drained():
			t.Fatalf("round %d: the shard was drained, and then it got a message", round)
		case written == nil:
			wantDepth(t, ctx, sealer, to, 1, 1, true)
			continue
		}
		wantDepth(t, ctx, sealer, to, 0, 0, true)
		if fresh := commit(t, ctx, writer, store.Unit{Inputs: got}); !fresh[0] {
			t.Fatalf("round %d: the refused unit has acknowledged its input", round)
		}
	}
	late := store.Unit{Name: "late", Outputs: []store.Put{{Shard: shards[1], Data: []byte("x")}}}
	wantError(t, "a message after the seal", errOf(writer.Commit(ctx, flowName, late)), store.ErrSealed)
}
