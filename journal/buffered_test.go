package journal_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/journal"
	"github.com/rota-run/rota/store"
)

// moody is a journal whose Append answers what the test says.
type moody struct {
	*journal.Memory
	mu    sync.Mutex
	err   func(n int) error // asked for each Append with the number of its records
	tries int
}

func newMoody(err func(n int) error) *moody {
	return &moody{Memory: journal.NewMemory(10_000), err: err}
}

func (m *moody) Append(ctx context.Context, records ...journal.Record) error {
	m.mu.Lock()
	m.tries++
	err := m.err(len(records))
	m.mu.Unlock()
	if err != nil {
		return err
	}
	return m.Memory.Append(ctx, records...)
}

func (m *moody) read(t *testing.T) string {
	t.Helper()
	got := must.Get(m.Read(context.Background(), journal.Query{Limit: 10_000}))(t)
	return messages(got)
}

// running runs b until stop is called, which returns when it has ended.
func running(t *testing.T, b *journal.Buffered) (stop func()) {
	ctx, end := context.WithCancel(t.Context())
	var done sync.WaitGroup
	done.Go(func() { b.Run(ctx) })
	return func() { end(); done.Wait() }
}

func TestBufferedWaitsForTheStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		away := true
		to := newMoody(func(int) error {
			if away {
				return store.ErrUnavailable
			}
			return nil
		})
		b := journal.NewBuffered(to, nil)
		stop := running(t, b)
		b.Add(said(1, "a", "one"))
		b.Add(said(2, "a", "two"))
		time.Sleep(5 * time.Minute)
		to.mu.Lock()
		away = false
		tries := to.tries
		to.mu.Unlock()
		if tries > 20 {
			t.Errorf("%d tries in five minutes: the pauses don't grow", tries)
		}
		time.Sleep(30 * time.Second)
		synctest.Wait()
		if got := to.read(t); got != "one two" || b.Dropped() != 0 {
			t.Errorf("got %q and %d dropped, want both records", got, b.Dropped())
		}
		stop()
	})
}

// TestBufferedEnds: what waits is written at the end of the process, in parts where it is too large, and counted where
// that fails.
func TestBufferedEnds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err              func(n int) error
		records, dropped int
	}{
		"all is taken":      {func(int) error { return nil }, 250, 0},
		"two are taken":     {func(n int) error { return map[bool]error{true: store.ErrTooLarge}[n > 2] }, 5, 0},
		"nothing fits":      {func(int) error { return store.ErrTooLarge }, 1, 1},
		"the store is away": {func(int) error { return store.ErrUnavailable }, 5000, 5000},
	} { // order-free: each by itself
		synctest.Test(t, func(t *testing.T) {
			to, began, want := newMoody(c.err), time.Now(), ""
			b := journal.NewBuffered(to, nil)
			for i := range c.records {
				b.Add(said(1, "a", fmt.Sprint(i)))
				want += fmt.Sprint(i) + " "
			}
			if got := b.Dropped(); got != 0 {
				t.Errorf("%s: %d dropped with nobody writing: what does not fit is summed up", name, got)
			}
			ctx, stop := context.WithCancel(t.Context())
			stop()
			b.Run(ctx)
			if got := to.read(t) + " "; c.dropped == 0 && got != want || b.Dropped() != int64(c.dropped) ||
				time.Since(began) > 2*time.Second {
				t.Errorf("%s: %q, %d dropped after %v", name, got, b.Dropped(), time.Since(began))
			}
			if b.Add(said(1, "a", "late")); b.Dropped() != int64(c.dropped)+1 {
				t.Errorf("%s: what comes after the end is not counted", name)
			}
		})
	}
}

// stuck is a journal that answers only when the context ends.
type stuck struct{ journal.Journal }

func (stuck) Append(ctx context.Context, _ ...journal.Record) error {
	<-ctx.Done()
	return context.Cause(ctx)
}

func TestBufferedEndsWhileTheStoreHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := journal.NewBuffered(stuck{}, nil)
		stop := running(t, b)
		for range 300 {
			b.Add(said(1, "a", "x"))
		}
		synctest.Wait()
		start := time.Now()
		stop()
		if took := time.Since(start); took != 2*time.Second || b.Dropped() != 300 {
			t.Errorf("ended after %v with %d dropped, want 2s and 300", took, b.Dropped())
		}
	})
}

// A member dies that had 33,333 tasks: each move that the queue holds has its record, and one sums up the others.
func TestBufferedSumsUpWhatDoesNotFit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to := newMoody(func(int) error { return nil })
		b := journal.NewBuffered(to, nil)
		const moves = 33_333
		for i := range moves {
			gap := int64(500 + i%7)
			b.Add(journal.Record{AtMS: int64(1000 + i/100), Kind: journal.Moved, Member: "b",
				Partition: fmt.Sprint("t", i), From: "a", To: "b", Cause: "a left", GapMS: &gap})
		}
		stop := running(t, b)
		synctest.Wait()
		got, err := to.Read(t.Context(), journal.Query{Limit: 10_000})
		if err != nil || len(got) != 4097 || b.Dropped() != 0 {
			t.Fatalf("%d records, %d dropped, %v; want 4096 and their sum", len(got), b.Dropped(), err)
		}
		last := got[len(got)-1]
		if want := "a → b  29237 more like this within 293ms, too many at once to be kept one by one; the longest  a left  gap 506ms"; last.Line() != want || last.Count != 29237 {
			t.Errorf("the sum is\n%s, want\n%s", last.Line(), want)
		}
		for i := range moves {
			b.Add(journal.Record{AtMS: 1, Kind: journal.Asked, Member: "b", Cause: fmt.Sprint("cause ", i)})
		}
		synctest.Wait()
		stop()
		if n := len(to.read(t)); n == 0 || b.Dropped() != 0 {
			t.Errorf("%d dropped", b.Dropped())
		}
	})
}

// TestBufferedWritesBatches: what waits is written at once, as much as fits into a batch, and what did not fit into the
// queue when that is empty, not at the end of the process.
func TestBufferedWritesBatches(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var sizes []int
		to := newMoody(func(n int) error {
			sizes = append(sizes, n)
			return nil
		})
		b := journal.NewBuffered(to, nil)
		for range 4096 + 2 {
			b.Add(journal.Record{AtMS: 1, Kind: journal.Moved, Cause: "a left"})
		}
		stop := running(t, b)
		synctest.Wait()
		if len(sizes) != 42 || sizes[0] != 100 || sizes[39] != 100 || sizes[40] != 96 || sizes[41] != 1 {
			t.Errorf("written at once: %v; want 40 times 100, 96, and the sum of two", sizes)
		}
		stop()
	})
}

// TestBufferedCountsSumsThatAreLost: the store is gone until the end, so what was summed up is lost and counted, each
// record of it.
func TestBufferedCountsSumsThatAreLost(t *testing.T) {
	t.Parallel()
	for _, ended := range []bool{true, false} { // before the sum is written for the first time
		synctest.Test(t, func(t *testing.T) {
			n := 0
			b := journal.NewBuffered(newMoody(func(int) error {
				if n++; n > 41 {
					return store.ErrUnavailable
				}
				return nil
			}), nil)
			for range 4096 + 5 {
				b.Add(journal.Record{AtMS: 1, Kind: journal.Moved, Cause: "a left"})
			}
			ctx, stop := context.WithCancel(t.Context())
			if ended {
				stop()
			}
			time.AfterFunc(time.Minute, stop)
			b.Run(ctx)
			if b.Dropped() != 5 {
				t.Errorf("ended %t: %d dropped, want the five that were summed up", ended, b.Dropped())
			}
		})
	}
}
