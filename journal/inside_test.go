package journal

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
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

// TestAWriteThatTakesLongHoldsUpNoOther: an Append that waits for the store does not delay the next one, which writes a
// document of its own.
func TestAWriteThatTakesLongHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	j := NewDocs(memory.New().Open(), "m", 0)
	j.growing.Lock() // as by an Append that waits for the store
	defer j.growing.Unlock()
	written := make(chan error, 1)
	go func() { written <- j.Append(t.Context(), Record{Kind: RunError}) }()
	select {
	case err := <-written:
		must.Succeed(t, err)
	case <-time.After(10 * time.Second): // only a failure waits for it
		t.Error("it waits")
	}
}

// TestMemoryIsBounded: it holds at most twice what it promises, and does not move records at every append.
func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	if usual := NewMemory(0).most; usual != 1000 {
		t.Errorf("it keeps %d records where no number is given", usual)
	}
	m := NewMemory(10)
	for n := 1; n <= 100; n++ {
		must.Succeed(t, m.Append(t.Context(), Record{Kind: RunError}))
		if len(m.records) > 20 || n == 20 && len(m.records) != 20 {
			t.Fatalf("%d records after %d appends", len(m.records), n)
		}
	}
	must.Succeed(t, m.Append(t.Context(), Record{Kind: RunError, Message: "newest"}))
	if got, err := m.Read(t.Context(), Query{}); err != nil || len(got) != 10 || got[9].Message != "newest" {
		t.Errorf("got %v, %v", got, err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := m.Read(ended, Query{}); err == nil || m.Append(ended) == nil {
		t.Error("a context that has ended is no error")
	}
}

// TestHoursOfTheFuture: what is asked for since a time to come is looked for there.
func TestHoursOfTheFuture(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 23, 15, 30, 0, 0, time.UTC)
	if hours, all := (Query{Since: now.Add(3 * time.Hour)}).hours(now); len(hours) != 2 || all {
		t.Errorf("hours %v, all %t", hours, all)
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

// TestSumsAreBounded: however many causes there are, so many are kept apart, and one more for all others.
func TestSumsAreBounded(t *testing.T) {
	t.Parallel()
	s := make(sums)
	for i := range 3 * maxSums {
		s.add(Record{AtMS: int64(i), Kind: Asked, Member: "m", Cause: fmt.Sprint(i)})
	}
	all := s.records()
	if others := all[len(all)-1].Message; len(s) != maxSums+1 || s.count() != 3*maxSums ||
		!strings.HasPrefix(others, "128 more like this within 127ms,") {
		t.Errorf("%d sums of %d records, the last one: %s", len(s), s.count(), others)
	}
}

// FuzzDecode: what the fast way reads is what package json reads, and it refuses what that refuses.
func FuzzDecode(f *testing.F) {
	gap := int64(-3)
	for _, records := range [][]Record{
		{},
		{{AtMS: 1, Kind: Moved, Partition: "a#b", From: "m1", To: "m2", Cause: "m1 is gone: ä", Token: 1 << 63,
			GapMS: &gap}},
		{{AtMS: -1, Kind: RunError, Member: "m", Message: "a \"quoted\" <text>\n"},
			{Kind: Malformed, Storage: &Storage{Path: "p"}}},
	} {
		data, err := json.Marshal(records)
		must.Succeed(f, err)
		f.Add(data)
	}
	for _, s := range []string{`[{"at_ms":01}]`, `[{"at_ms":-}]`, `[{"at_ms":1.5}]`, `[{}]`, `[{"kind":"a"},]`,
		`[{"KIND":"a"}]`, `[{"token":-1}]`, "[{\"kind\":\"\x1f\"}]", "[{\"kind\":\"\xff\"}]", `[{"token":1}]x`,
		`[{"kind":"a\nb"}]`, `[{"kind":"a","kind":"b","at_ms":9223372036854775808}]`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, ok := quick(data)
		if !ok {
			return
		}
		var want []Record
		if err := json.Unmarshal(data, &want); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%s\nis read as %+v\nwant       %+v, %v", data, got, want, err)
		}
	})
}

// TestMovesAreReadFast: most records of a busy hour are moves, and none of them needs package json.
func TestMovesAreReadFast(t *testing.T) {
	gap := int64(12)
	data, err := json.Marshal([]Record{{AtMS: 1, Kind: Moved, Member: "m", Partition: "a#b", From: "m1", To: "m2",
		Cause: "m1 is gone", Token: 7, GapMS: &gap}, {AtMS: 2, Kind: TaskAdded, Partition: "a"}})
	must.Succeed(t, err)
	if _, ok := quick(data); !ok {
		t.Fatalf("%s is not read the fast way", data)
	}
}
