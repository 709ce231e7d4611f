package storetest

import (
	"testing"
	"time"

	"github.com/rota-run/rota/store"
)

// short is a lease whose end a rule waits for. A server may count in whole seconds.
const short = time.Second

func queueLeaseEnds[S store.Queue](t *testing.T, open Open[S]) {
	a, b, ctx := pair(t, open)
	makeFlow(t, ctx, a)
	putMessages(t, ctx, a, in, "one")
	var first []store.Message
	awaitQueue(t, "a delivery", func() bool {
		first = receive(t, ctx, a, store.Receive{Shard: in, Limit: 1, Lease: short})
		return len(first) == 1
	})
	again := take(t, ctx, b, in, 1)
	wantTexts(t, "delivered again", again, "one")
	if again[0].Number != first[0].Number || again[0].Delivered < 2 {
		t.Fatalf("delivered again: %+v, first %+v", again[0], first[0])
	}
}

func queueKeep[S store.Queue](t *testing.T, open Open[S]) {
	a, b, ctx := pair(t, open)
	makeFlow(t, ctx, a)
	putMessages(t, ctx, a, in, "kept", "mark")
	got := take(t, ctx, a, in, 2) // "kept", "mark"
	kept, mark := got[:1], got[1:]
	awaitQueue(t, "a lease was kept before it ended", func() bool {
		// The end of the mark's lease shows that the kept one's would have ended as well.
		began := time.Now()
		receive(t, ctx, a, store.Receive{Shard: in, Lease: short, Keep: kept})
		receive(t, ctx, a, store.Receive{Shard: in, Lease: short, Keep: mark})
		receive(t, ctx, a, store.Receive{Shard: in, Lease: lease, Keep: kept})
		if time.Since(began) < short {
			return true
		}
		// This machine was too slow: both may have been given back.
		receive(t, ctx, a, store.Receive{Shard: in, Return: got})
		got = take(t, ctx, a, in, 2)
		kept, mark = got[:1], got[1:]
		return false
	})
	wantTexts(t, "what was not kept", take(t, ctx, b, in, 1), "mark")
	wantEmpty(t, ctx, b, in)
	if fresh := commit(t, ctx, a, store.Unit{Inputs: kept}); !fresh[0] {
		t.Error("what was kept was committed by another")
	}
}

func queuePeek[S store.Queue](t *testing.T, open Open[S]) {
	s, ctx := flowOf(t, open)
	putMessages(t, ctx, s, in, "a", "b", "c", "d")
	peek := func(after uint64, limit int) []store.Message {
		return receive(t, ctx, s, store.Receive{Shard: in, Peek: true, After: after, Limit: limit})
	}
	all := peek(0, 10)
	wantTexts(t, "all", all, "a", "b", "c", "d")
	wantTexts(t, "a page", peek(all[0].Number, 2), "b", "c")
	wantTexts(t, "behind the last", peek(all[3].Number, 2))
	got := take(t, ctx, s, in, 4)
	wantTexts(t, "delivered", got, "a", "b", "c", "d")
	wantTexts(t, "while others have them", peek(0, 10), "a", "b", "c", "d")
}
