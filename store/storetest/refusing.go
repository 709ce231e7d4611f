package storetest

import (
	"context"
	"testing"

	"github.com/rota-run/rota/store"
)

// calls are those of a contract, by name.
type calls map[string]func(context.Context) error

// refusing are two rules of all calls of a contract: one whose ctx has ended before it, and one of a closed handle, say so
// and change nothing. prepare makes a handle ready for its calls; unchanged may be nil.
func refusing[S any](prepare func(t *testing.T, ctx context.Context, s S) (all calls, unchanged func())) []rule[S] {
	return []rule[S]{
		{"cancelled before the call", func(t *testing.T, open Open[S]) {
			s, ctx := single(t, open)
			all, unchanged := prepare(t, ctx, s)
			for name, call := range all { // order-free: each is judged alone
				wantError(t, name, call(cancelled()), stoppedError{})
			}
			if unchanged != nil {
				unchanged()
			}
		}},
		{"closed", func(t *testing.T, open Open[S]) {
			s, ctx := single(t, open)
			all, _ := prepare(t, ctx, s)
			closeHandle(t, s)
			closeHandle(t, s)
			for name, call := range all { // order-free: each is judged alone
				wantError(t, name, call(ctx), store.ErrClosed)
			}
		}},
	}
}
