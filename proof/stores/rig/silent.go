package rig

import (
	"context"
	"testing"
	"time"

	"github.com/rota-run/rota/store"
)

// inARow is how many reads must be answered one after the other: clients that have several connections take turns among
// them.
const inARow = 30

// Answers waits until a handle, one of whose servers is silent, no longer asks that one: many reads of a document in a
// row get its version.
func Answers(t testing.TB, s store.Docs, key string, v store.Version) {
	t.Helper()
	ctx, began, asked := LongDeadline(t), time.Now(), 0
	for answers := 0; answers < inARow; asked++ {
		if answered(ctx, s, key, v) {
			answers++
			continue
		}
		if ctx.Err() != nil {
			t.Fatalf("a server is silent, and is still asked after %v", time.Since(began))
		}
		answers = 0
		time.Sleep(10 * time.Millisecond) // waits: between two attempts; the end is that of ctx
	}
	t.Logf("a server is silent: it is no longer asked after %v and %d calls", time.Since(began).Round(time.Millisecond),
		asked-inARow)
}

func answered(ctx context.Context, s store.Docs, key string, v store.Version) bool {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second) // enough for a busy machine, too little for a server that is silent
	defer cancel()
	d, err := s.Get(ctx, key)
	return err == nil && d.Version == v
}
