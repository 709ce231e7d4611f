package locks_test

import (
	"context"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/lock"
	"github.com/rota-run/rota/store"
)

// patience bounds what only a failure waits for.
const patience = 60 * time.Second

func deadline(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

func client(t testing.TB, s store.Docs, o lock.Options) *lock.Client {
	t.Helper()
	c := must.Get(lock.NewClient(s, o))(t)
	t.Cleanup(func() {
		if err := c.Close(deadline(t)); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return c
}
