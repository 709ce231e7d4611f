package rig

import (
	"context"
	"errors"
	"testing"

	"github.com/rota-run/rota/store"
)

// Open opens a handle, which the test closes at its end. An error of Close fails the test.
func Open[S store.Store](t testing.TB, open func(context.Context) (S, error)) S {
	t.Helper()
	s := Opened(t, open)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

// Opened opens a handle that the caller closes. It tries again while the server is not available, as it may be on a
// busy machine.
func Opened[S any](t testing.TB, open func(context.Context) (S, error)) S {
	t.Helper()
	ctx := Deadline(t)
	for {
		s, err := open(ctx)
		switch {
		case err == nil:
			return s
		case !errors.Is(err, store.ErrUnavailable) || ctx.Err() != nil:
			t.Fatal(err)
		}
	}
}
