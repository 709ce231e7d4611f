package log

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/store/driver/drivermap"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/engine"
	"github.com/rota-run/rota/store/storetest"
)

func TestLogJournal(t *testing.T)      { t.Parallel(); storetest.Log(t, onOrdered) }
func TestSeedJournal(t *testing.T)     { t.Parallel(); storetest.Seed(t, onOrdered) }
func TestLogWatchJournal(t *testing.T) { t.Parallel(); storetest.LogWatch(t, onOrdered) }

// TestBatchOfAJournal: each caller of a batch gets the index of its own record, also where indexes have gaps.
func TestBatchOfAJournal(t *testing.T) {
	t.Parallel()
	h := onOrdered(t)(t)
	for i := range h.Log.batch {
		h.waiting = append(h.waiting, &waiter{data: fmt.Append(nil, i), answer: make(chan result, 1)})
	}
	turn := h.take()
	h.serveTurn(turn)
	page := must.Get(h.Log.Read(t.Context(), 0, 100))(t)
	for i, w := range turn.batch {
		r := page.Records[i]
		if got := <-w.answer; got.err != nil || got.index != r.Index || string(r.Data) != fmt.Sprint(i) {
			t.Errorf("record %d is at %d, and its caller was told %d, %v", i, r.Index, got.index, got.err)
		}
	}
}

// TestTurnsOfAJournal: records that are too large for one append together take turns, none is refused for it.
func TestTurnsOfAJournal(t *testing.T) {
	t.Parallel()
	for _, swap := range []int{1 << 30, 300 << 10} { // more and less than a batch has
		m := drivermap.New()
		m.Most.Swap, m.Most.Each = swap, 1000
		takeTurns(t, Open(engine.NewRows(m.OpenOrdered(), "a"), Main))
	}
}

func takeTurns(t *testing.T, h *Log) {
	t.Helper()
	limits := h.rows.Limits()
	most := min(batchBytes, limits.Swap)
	for name, c := range map[string]struct { // order-free: each is judged alone
		sizes, want []int
	}{
		"small":        {slices.Repeat([]int{10}, h.batch+2), []int{h.batch, 2}},
		"half":         {slices.Repeat([]int{most/2 - limits.Each}, 5), []int{2, 2, 1}},
		"half and one": {slices.Repeat([]int{most/2 - limits.Each + 1}, 3), []int{1, 1, 1}},
		"one too many": {[]int{10, limits.Value, 10}, []int{1, 1, 1}},
		"a large one":  {[]int{2 * most, 2 * most, 10}, []int{1, 1, 1}},
	} {
		for _, size := range c.sizes {
			h.waiting = append(h.waiting, &waiter{data: make([]byte, size)})
		}
		var got []int
		for len(h.waiting) > 0 && len(got) < len(c.sizes) {
			got = append(got, len(h.take().batch))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: turns of %d, want %d", name, got, c.want)
		}
	}
}

// TestWhoLeavesATurn: a turn ends when the last caller has left it, and begins without who has left before.
func TestWhoLeavesATurn(t *testing.T) {
	t.Parallel()
	h := onOrdered(t)(t)
	w := []*waiter{{}, {}, {}, {}}
	h.waiting = slices.Clone(w)
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if err := h.leave(ctx, w[1]); !errors.Is(err, cause) || errors.Is(err, store.ErrUnknown) {
		t.Errorf("whose turn has not come: %v", err)
	}
	turn := h.take()
	if len(turn.batch) != 3 {
		t.Errorf("a turn of %d, want 3", len(turn.batch))
	}
	for i, n := range []int{0, 2, 3} {
		if turn.ctx.Err() != nil {
			t.Fatalf("the turn ended when %d had left", i)
		}
		if err := h.leave(ctx, w[n]); !errors.Is(err, cause) || !errors.Is(err, store.ErrUnknown) {
			t.Errorf("who is under way: %v", err)
		}
	}
	if !errors.Is(context.Cause(turn.ctx), cause) {
		t.Errorf("all have left: %v", context.Cause(turn.ctx))
	}
	h.serving = true
	data := []byte("a")
	one := h.queue(data)
	if data[0] = 'b'; string(one.data) != "a" {
		t.Errorf("a caller that has left changed its record to %q", one.data)
	}
}
