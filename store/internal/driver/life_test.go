package driver

import (
	"context"
	"errors"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/store"
)

func TestLife(t *testing.T) {
	t.Parallel()
	l, ended := NewLife(), false
	calling, leave, err := l.Enter(t.Context())
	must.Succeed(t, err)
	if !l.Begin(func() { <-calling.Done(); ended = true }) {
		t.Error("an open handle begins nothing")
	}
	if !l.Close() || l.Close() {
		t.Error("not the first Close alone is the first")
	}
	if l.Begin(func() {}) || calling.Err() != nil {
		t.Errorf("a handle that closes begins something, or ends a call: %v", calling.Err())
	}
	l.End()
	if !ended || !errors.Is(context.Cause(calling), store.ErrClosed) {
		t.Errorf("End has waited: %v; a call ended by %v", ended, context.Cause(calling))
	}
	leave()
	if _, _, err := l.Enter(t.Context()); !errors.Is(err, store.ErrClosed) {
		t.Errorf("enter: %v", err)
	}
	other := NewLife()
	if other.End(); other.Begin(func() {}) {
		t.Error("a handle that has ended begins something")
	}
	cause := errors.New("stopped")
	stopped, stop := context.WithCancelCause(t.Context())
	stop(cause)
	if _, _, err := NewLife().Enter(stopped); !errors.Is(err, cause) {
		t.Errorf("enter with a ctx that has ended: %v", err)
	}
}
