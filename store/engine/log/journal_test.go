package log

import (
	"crypto/rand"
	"errors"
	"fmt"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/store/driver/drivermap"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/engine"
	"github.com/rota-run/rota/store/storetest"
)

// onOrdered is a store that orders the log, in which indexes have gaps.
func onOrdered(*testing.T) func(*testing.T) handle {
	m := drivermap.New()
	m.Gaps = true
	return func(*testing.T) handle {
		r := engine.NewRows(m.OpenOrdered(), rand.Text()[:16])
		return handle{engine.NewDocs(r), Open(r, Main)}
	}
}

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

// TestReadWithJournal: documents come with the log, also where that is trimmed.
func TestReadWithJournal(t *testing.T) {
	t.Parallel()
	ctx, h := t.Context(), onOrdered(t)(t)
	_, err := h.Put(ctx, store.Doc{Key: "k", Value: []byte("x")})
	must.Succeed(t, err)
	var at uint64
	for range 3 {
		at, err = h.Append(ctx, []byte("r"))
		must.Succeed(t, err)
	}
	page, docs, err := h.ReadWith(ctx, 0, 10, []string{"k", "none"})
	if err != nil || len(page.Records) != 3 || len(docs) != 2 || string(docs[0].Value) != "x" || docs[1].Version != "" {
		t.Errorf("%+v, %+v, %v", page, docs, err)
	}
	must.Succeed(t, h.SaveSnapshot(ctx, store.Record{Index: at}))
	must.Succeed(t, h.Trim(ctx, at))
	_, docs, err = h.ReadWith(ctx, 0, 10, []string{"k"})
	if !errors.Is(err, store.ErrTruncated) || len(docs) != 1 || string(docs[0].Value) != "x" {
		t.Errorf("of a trimmed log: %+v, %v", docs, err)
	}
}
