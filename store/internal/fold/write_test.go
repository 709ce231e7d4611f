package fold_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/driver"
	"github.com/rota-run/rota/store/internal/fold"
)

// TestAWriteReadsNothing where nobody has written meanwhile. Where somebody has, it shows that too; and where the
// journal cannot be read then, its outcome is unknown.
func TestAWriteReadsNothing(t *testing.T) {
	t.Parallel()
	s, away, reads := newShop(), error(nil), 0
	s.Gaps = false
	j := s.journal()
	j.read = func(after uint64, n int) ([]store.Record, uint64, uint64, error) {
		if reads++; away != nil {
			return nil, 0, 0, away
		}
		return j.Journal.Read(context.Background(), after, n)
	}
	h := open(t, j, options())
	v := write(t, h, "a", "x", "")
	reads = 0
	if v = write(t, h, "a", "y", v); reads > 0 {
		t.Errorf("a write reads %d times", reads)
	}
	other := open(t, s.journal(), options())
	theirs := write(t, other, "b", "x", "")
	v = write(t, h, "a", "z", v)
	rows, err := h.Read(t.Context(), driver.Query{Keys: []string{"b"}, Stale: true})
	if err != nil || rows.Keys[0].Version != theirs {
		t.Errorf("%+v, %v; want version %s", rows.Keys, err, theirs)
	}
	write(t, other, "b", "y", theirs)
	away = store.ErrUnavailable
	if _, err := h.Swap(t.Context(), driver.Op{Key: "a", Name: "n", If: v}); !errors.Is(err, store.ErrUnknown) ||
		!errors.Is(err, away) {
		t.Errorf("a write whose outcome nobody can read: %v", err)
	}
}

// mute is a journal that answers no read.
type mute struct{ fold.Journal }

func (mute) Read(ctx context.Context, _ uint64, _ int) ([]store.Record, uint64, uint64, error) {
	<-ctx.Done()
	return nil, 0, 0, ctx.Err()
}

// TestTimeout: a call ends with its timeout, and says that the store did not answer.
func TestTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		_, err := get(open(t, mute{newShop().journal()}, options()), "a")
		if !errors.Is(err, store.ErrUnavailable) || time.Since(began) != options().Timeout {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
	})
}
