package driver

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/rota-run/rota/store"
)

func texts(batch []*Record) string {
	var all []string
	for _, r := range batch {
		all = append(all, string(r.Data))
	}
	return strings.Join(all, " ")
}

// TestTakeIsBounded: by records and by bytes, and a record alone is taken whatever its size.
func TestTakeIsBounded(t *testing.T) {
	q := NewQueue()
	for _, data := range []string{"aaaa", "b", "c", "d", "eeeeeeeee"} {
		q.Add([]byte(data))
	}
	for _, want := range []string{"aaaa b", "c d", "eeeeeeeee", ""} {
		if got := texts(q.Take(2, 7, 1)); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestAnswers: each record gets its own index, or the error of its batch.
func TestAnswers(t *testing.T) {
	q, lost := NewQueue(), errors.New("lost")
	first, second := q.Add([]byte("x")), q.Add([]byte("y"))
	Answer(q.Take(9, 9, 0), 41, nil)
	third := q.Add(nil)
	Answer(q.Take(9, 9, 0), 43, lost)
	for _, c := range []struct {
		r    *Record
		want uint64
		err  error
	}{{first, 41, nil}, {second, 42, nil}, {third, 0, lost}} {
		if got, err := q.Wait(t.Context(), c.r); got != c.want || !errors.Is(err, c.err) {
			t.Errorf("%s: got %d, %v; want %d, %v", c.r.Data, got, err, c.want, c.err)
		}
	}
}

// TestWithdrawn: a caller that goes away before its record was sent knows that it never will be; one that goes away later does not know.
func TestWithdrawn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, gone := NewQueue(), errors.New("gone")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(gone)
		if _, err := q.Wait(ctx, q.Add([]byte("early"))); !errors.Is(err, gone) || errors.Is(err, store.ErrUnknown) {
			t.Errorf("got %v, want that it was not sent", err)
		}
		late := q.Add([]byte("late"))
		if texts(q.Take(9, 99, 0)) != "late" {
			t.Error("a withdrawn record was sent")
		}
		if _, err := q.Wait(ctx, late); !errors.Is(err, gone) || !errors.Is(err, store.ErrUnknown) {
			t.Errorf("got %v, want an unknown outcome", err)
		}
		if q.Back([]*Record{late}); len(q.Take(9, 99, 0)) != 0 {
			t.Error("a record whose caller is gone was sent again")
		}
	})
}

// TestBack: what is proven not to be appended goes first the next time.
func TestBack(t *testing.T) {
	q := NewQueue()
	q.Add([]byte("a"))
	batch := q.Take(9, 9, 0)
	q.Add([]byte("b"))
	q.Back(batch)
	if got := texts(q.Take(9, 9, 0)); got != "a b" || q.Len() != 0 {
		t.Errorf("got %q, %d left", got, q.Len())
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
	named := func(cause error) (err error) {
		defer Place("etcd x/rota").Wrap(&err, "put %q", "a")
		return cause
	}
	plain := func(cause error) (err error) {
		defer Wrap(&err, "put %q", "a")
		return cause
	}
	if named(nil) != nil || plain(nil) != nil {
		t.Error("an error where there is none")
	}
	if err := plain(store.ErrConflict); !errors.Is(err, store.ErrConflict) || !strings.HasPrefix(err.Error(), `put "a": `) {
		t.Errorf("got %v", err)
	}
	if err := named(store.ErrConflict); !errors.Is(err, store.ErrConflict) || !strings.HasPrefix(err.Error(), `put "a" in etcd x/rota: `) {
		t.Errorf("got %v", err)
	}
}
