package storetest

import (
	"fmt"
	"testing"

	"github.com/rota-run/rota/store"
)

// queueOrder: one reader gets the messages of a shard in the order in which they were written: by calls one after the
// other, by the units of a call, and by the outputs of a unit; also where they were delivered before, and not
// acknowledged.
func queueOrder[S store.Queue](t *testing.T, open Open[S]) {
	writer, reader, ctx := pair(t, open)
	makeFlow(t, ctx, writer)
	const calls, units, outputs = 6, 3, 4
	var want, got []string
	for call := range calls {
		var all []store.Unit
		for unit := range units {
			u := store.Unit{Name: fmt.Sprint(call, "/", unit)}
			for i := range outputs {
				text := fmt.Sprintf("%d/%d/%d %0*d", call, unit, i, 400*i, 0) // some are large
				want = append(want, text)
				u.Outputs = append(u.Outputs, store.Put{Shard: in, Segments: 1, Data: []byte(text)})
			}
			all = append(all, u)
		}
		commit(t, ctx, writer, all...)
	}
	returned := false
	awaitQueue(t, "all messages", func() bool {
		some := receive(t, ctx, reader, store.Receive{Shard: in, Limit: 5, Lease: lease})
		if len(got) > calls*units && len(some) > 0 && !returned {
			returned = true
			receive(t, ctx, reader, store.Receive{Shard: in, Return: some})
			return false
		}
		for _, m := range some {
			got = append(got, string(m.Data))
			commit(t, ctx, reader, store.Unit{Inputs: []store.Message{m}})
		}
		return len(got) == len(want)
	})
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("message %d of %d is %.10q, written was %.10q", i, len(want), got[i], want[i])
		}
	}
}
