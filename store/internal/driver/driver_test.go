package driver

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

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

// TestAShorterLogIsBelievedLate reads a log whose end moves back and forth, once every ten seconds, after the index 100
// was seen.
func TestAShorterLogIsBelievedLate(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		answers  []uint64
		believed []bool
	}{
		{"it grows", []uint64{100, 101, 105}, []bool{true, true, true}},
		{"an old leader answers for a while", []uint64{90, 95, 101, 99}, []bool{false, false, true, false}},
		{"now and then an old leader answers", []uint64{90, 100, 90, 100, 90, 100},
			[]bool{false, true, false, true, false, true}},
		{"the end is lost", []uint64{90, 90, 90, 90, 91}, []bool{false, false, false, true, true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var h Head
				h.Reached(100)
				h.Reached(7) // nothing new
				for i, answer := range c.answers {
					switch err := h.Believe(answer); {
					case c.believed[i] && err != nil:
						t.Errorf("answer %d, %d: %v, want it believed", i, answer, err)
					case !c.believed[i] && !errors.Is(err, store.ErrUnavailable):
						t.Errorf("answer %d, %d: error %v, want ErrUnavailable", i, answer, err)
					case answer == 90 && err != nil && !strings.Contains(err.Error(), "lacks 1"):
						t.Errorf("answer %d, %d: %v does not say how many records are missing", i, answer, err)
					}
					time.Sleep(10 * time.Second)
				}
			})
		})
	}
}

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
