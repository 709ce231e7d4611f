package journal

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
)

// TestTheOldestOfTooManyGo: of more documents than the journal keeps, the oldest are removed, and no others.
func TestTheOldestOfTooManyGo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		docs := memory.New().Open()
		for i := range 5 {
			old := NewDocs(docs, fmt.Sprint("m", i), 0)
			old.swept.Store(time.Now().Unix() / 3600) // it leaves that to j
			must.Succeed(t, old.Append(t.Context(), Record{Kind: RunError, Message: fmt.Sprint(i)}))
			time.Sleep(time.Millisecond)
		}
		j := NewDocs(docs, "m", 0)
		j.most = 3
		must.Succeed(t, j.Append(t.Context(), Record{Kind: RunError, Message: "5"}))
		got, err := j.Read(t.Context(), Query{})
		if err != nil || len(got) != 3 || got[0].Message != "3" || got[2].Message != "5" {
			t.Errorf("left are %v, %v; want 3, 4 and 5", got, err)
		}
	})
}

// listed counts the lists.
type listed struct {
	store.Docs
	lists int
}

func (l *listed) List(ctx context.Context, prefix string) ([]store.Doc, error) {
	l.lists++
	return l.Docs.List(ctx, prefix)
}

// TestASweepAnHour: an append looks for old documents once an hour, because that reads everything.
func TestASweepAnHour(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		docs := &listed{Docs: memory.New().Open()}
		j := NewDocs(docs, "m", 0)
		for range 180 { // three hours, from midnight
			must.Succeed(t, j.Append(t.Context(), Record{Kind: RunError}))
			time.Sleep(time.Minute)
		}
		if docs.lists != 3 {
			t.Errorf("%d sweeps in three hours", docs.lists)
		}
	})
}

// TestMemoryIsBounded: it holds at most twice what it promises, and does not move records at every append.
func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	m := NewMemory(10)
	for n := 1; n <= 100; n++ {
		must.Succeed(t, m.Append(t.Context(), Record{Kind: RunError}))
		if len(m.records) > 20 || n == 20 && len(m.records) != 20 {
			t.Fatalf("%d records after %d appends", len(m.records), n)
		}
	}
}

// TestHoursOfAQuery: few hours are listed one by one, many, or those of a task, at once.
func TestHoursOfAQuery(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 23, 15, 30, 0, 0, time.UTC)
	for _, c := range []struct {
		q     Query
		hours int
		all   bool
	}{
		{Query{}, 14, true},
		{Query{Partition: "a"}, 0, true},
		{Query{Since: now.Add(-2 * time.Hour)}, 4, false},
		{Query{Since: now.Add(-2 * time.Hour), Partition: "a"}, 4, false},
		{Query{Since: now.Add(-11 * time.Hour)}, 13, false},
		{Query{Since: now.Add(-12 * time.Hour)}, 14, true},
		{Query{Since: now.Add(-12 * time.Hour), Partition: "a"}, 0, true},
		{Query{Since: now.Add(time.Hour)}, 2, false},
	} {
		hours, all := c.q.hours(now)
		if len(hours) != c.hours || all != c.all {
			t.Errorf("%+v: %d hours, all %v; want %d, %v", c.q, len(hours), all, c.hours, c.all)
		}
	}
}

// TestADocumentOfOthersIsNotDecoded: a query that names a task reads only documents that name it, as they are written.
func TestADocumentOfOthersIsNotDecoded(t *testing.T) {
	t.Parallel()
	docs := []store.Doc{
		{Key: "journal/2026112315/1-m-x-1", Value: []byte(`[{"at_ms":1,"partition":"a#1"}]`)},
		{Key: "journal/2026112315/2-m-x-2", Value: []byte(`[{"at_ms":2, "partition" : "a"}]`)}, // nobody writes it like that
	}
	q := Query{Partition: "a"}
	s := search{q: q, mark: q.mark()}
	s.look(docs)
	if len(s.found) != 1 || len(s.found[0]) != 1 || s.found[0][0].AtMS != 1 {
		t.Errorf("found %v", s.found)
	}
}

// TestAnHourBeforeSinceIsOver: a read ends where nothing older can match.
func TestAnHourBeforeSinceIsOver(t *testing.T) {
	t.Parallel()
	s := search{q: Query{Since: time.Date(2026, 11, 23, 15, 30, 0, 0, time.UTC)}}
	for hour, want := range map[string]bool{"2026112314": true, "2026112315": false, "2026112316": false, "what": false} {
		if s.over(hour) != want {
			t.Errorf("%s is over: %v", hour, !want)
		}
	}
}

// TestSumsAreBounded: however many causes there are, so many are kept apart, and one more for all others.
func TestSumsAreBounded(t *testing.T) {
	t.Parallel()
	s := make(sums)
	for i := range 3 * maxSums {
		s.add(Record{AtMS: 1, Kind: Asked, Member: "m", Cause: fmt.Sprint(i)})
	}
	if len(s) != maxSums+1 || s.count() != 3*maxSums {
		t.Errorf("%d sums of %d records", len(s), s.count())
	}
}
