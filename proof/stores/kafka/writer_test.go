package kafka_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/kafka"
)

// writer appends records and counts in a document, and notes what was acknowledged.
type writer struct {
	s            *kafka.Store
	id           int
	done         atomic.Int64 // calls that were acknowledged
	acknowledged map[uint64]string
	unknown      map[string]bool
	counted      int // increments that were acknowledged
	maybe        int // increments with an unknown outcome
}

func (w *writer) key() string { return fmt.Sprintf("count/%d", w.id) }

func (w *writer) run(ctx context.Context, stop <-chan struct{}) {
	for n := 0; ; n++ {
		select {
		case <-stop:
			return
		default:
		}
		one, cancel := context.WithTimeout(ctx, 10*time.Second)
		w.append(one, n)
		w.count(one)
		cancel()
	}
}

func (w *writer) append(ctx context.Context, n int) {
	data := fmt.Sprintf("%d/%d", w.id, n)
	index, err := w.s.Append(ctx, []byte(data))
	switch {
	case err == nil:
		w.acknowledged[index] = data
		w.done.Add(1)
	case errors.Is(err, store.ErrUnknown):
		w.unknown[data] = true
	}
}

func (w *writer) count(ctx context.Context) {
	d, err := w.s.Get(ctx, w.key())
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return
	}
	_, err = w.s.Put(ctx, store.Doc{Key: w.key(), Value: append(d.Value, 'x'), Version: d.Version})
	switch {
	case err == nil:
		w.counted++
		w.done.Add(1)
	case errors.Is(err, store.ErrUnknown):
		w.maybe++
	}
}

// check compares what the store holds with what was acknowledged.
func (w *writer) check(t *testing.T, ctx context.Context, s *kafka.Store, records []store.Record) {
	t.Helper()
	times := map[string]int{}
	for _, r := range records {
		times[string(r.Data)]++
		if want, ok := w.acknowledged[r.Index]; ok && want != string(r.Data) {
			t.Errorf("record %d is %q, acknowledged was %q", r.Index, r.Data, want)
		}
	}
	for index, data := range w.acknowledged {
		if times[data] != 1 {
			t.Errorf("%q, acknowledged at %d, is in the log %d times", data, index, times[data])
		}
	}
	for data := range w.unknown {
		if times[data] > 1 {
			t.Errorf("%q, unknown, is in the log %d times", data, times[data])
		}
	}
	d, err := s.Get(ctx, w.key())
	if n := len(d.Value); err != nil || n < w.counted || n > w.counted+w.maybe {
		t.Errorf("writer %d: %d increments are there, %d were acknowledged and %d are unknown, %v", w.id, n, w.counted,
			w.maybe, err)
	}
	t.Logf("writer %d: %d appends acknowledged, %d unknown; %d increments, %d unknown", w.id, len(w.acknowledged),
		len(w.unknown), w.counted, w.maybe)
}
