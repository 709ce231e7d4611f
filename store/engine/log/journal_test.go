package log

import (
	"fmt"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/store/storetest"
)

func TestLogJournal(t *testing.T)      { t.Parallel(); storetest.Log(t, onOrdered) }
func TestSeedJournal(t *testing.T)     { t.Parallel(); storetest.Seed(t, onOrdered) }
func TestLogWatchJournal(t *testing.T) { t.Parallel(); storetest.LogWatch(t, onOrdered) }

// TestBatchOfAJournal: each caller of a batch gets the index of its own record, also where indexes have gaps.
func TestBatchOfAJournal(t *testing.T) {
	t.Parallel()
	h := onOrdered(t)(t)
	var batch []*waiter
	for i := range h.MaxBatch() {
		batch = append(batch, &waiter{t.Context(), fmt.Append(nil, i), make(chan result, 1)})
	}
	h.serveBatch(batch)
	page, err := h.Log.Read(t.Context(), 0, 100)
	must.Succeed(t, err)
	for i, w := range batch {
		r := page.Records[i]
		if got := <-w.answer; got.err != nil || got.index != r.Index || string(r.Data) != fmt.Sprint(i) {
			t.Errorf("record %d is at %d, and its caller was told %d, %v", i, r.Index, got.index, got.err)
		}
	}
}
