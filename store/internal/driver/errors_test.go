package driver

import (
	"errors"
	"strings"
	"testing"

	"github.com/rota-run/rota/store"
)

// TestNotDone: the outcome of a preparation is not that of the call, and its other causes stay.
func TestNotDone(t *testing.T) {
	gone := errors.New("gone")
	err := NotDone(errors.Join(store.ErrUnknown, gone))
	if errors.Is(err, store.ErrUnknown) || !errors.Is(err, store.ErrUnavailable) || !errors.Is(err, gone) {
		t.Errorf("got %v", err)
	}
	if err := NotDone(store.ErrConflict); !errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrUnavailable) {
		t.Errorf("got %v, want what it was", err)
	}
}

// TestWrap: an error says what was asked for, and where; without one there is nothing to say.
func TestWrap(t *testing.T) {
	named := func(cause error) error { return Place("etcd x/rota").Failed(cause, "put %q", "a") }
	plain := func(cause error) (err error) {
		defer Wrap(&err, "put %q", "a")
		return cause
	}
	if named(nil) != nil || plain(nil) != nil {
		t.Error("an error where there is none")
	}
	if err := plain(store.ErrConflict); !errors.Is(err, store.ErrConflict) ||
		!strings.HasPrefix(err.Error(), `put "a": `) {
		t.Errorf("got %v", err)
	}
	if err := named(store.ErrConflict); !errors.Is(err, store.ErrConflict) ||
		!strings.HasPrefix(err.Error(), `put "a" in etcd x/rota: `) {
		t.Errorf("got %v", err)
	}
}
