package journal_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/journal"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
)

// TestReadIsTheDumbWay: for any query a read gives what Memory gives, which looks at each record, however records lie
// across documents and hours.
func TestReadIsTheDumbWay(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		ctx, now := context.Background(), time.Now().UnixMilli()
		server, plain := memory.New(), journal.NewMemory(0)
		writers := []journal.Journal{journal.NewDocs(server.Open(), "m1", 0), journal.NewDocs(server.Open(), "m2", 0)}
		ago := rapid.OneOf(rapid.Int64Range(-1800_000, 2*3600_000), rapid.Int64Range(0, 40*3600_000))
		name := rapid.SampledFrom([]string{"a", "a#1", "a/b", "ab", `<&"`, `<&"#x`})
		n := 0
		for range rapid.IntRange(0, 20).Draw(rt, "batches") {
			var batch []journal.Record
			for range rapid.IntRange(1, 3).Draw(rt, "records") {
				n++
				at := now - ago.Draw(rt, "ago")
				batch = append(batch, said(at-at%1000+int64(n), name.Draw(rt, "task"), fmt.Sprint(n))) // no two of one millisecond
			}
			w := rapid.SampledFrom(writers).Draw(rt, "writer")
			must.Succeed(rt, w.Append(ctx, batch...))
			must.Succeed(rt, plain.Append(ctx, batch...))
		}
		q := journal.Query{Limit: rapid.IntRange(0, 6).Draw(rt, "limit")}
		if rapid.Bool().Draw(rt, "of a task") {
			q.Partition = name.Draw(rt, "asked")
		}
		if rapid.Bool().Draw(rt, "since some time") {
			q.Since = time.UnixMilli(now - ago.Draw(rt, "since"))
		}
		if rapid.Bool().Draw(rt, "until some time") {
			q.Until = time.UnixMilli(now - ago.Draw(rt, "until"))
		}
		got, err1 := writers[0].Read(ctx, q)
		want, err2 := plain.Read(ctx, q)
		if err1 != nil || err2 != nil || messages(got) != messages(want) {
			rt.Fatalf("%+v: got %q, want %q (%v, %v)", q, messages(got), messages(want), err1, err2)
		}
	})
}

// counted counts the lists and the writes of documents.
type counted struct {
	store.Docs
	lists []string
	fail  error
}

func (c *counted) List(ctx context.Context, prefix string) ([]store.Doc, error) {
	c.lists = append(c.lists, prefix)
	return c.Docs.List(ctx, prefix)
}

func (c *counted) Put(ctx context.Context, d store.Doc) (store.Version, error) {
	v, err := c.Docs.Put(ctx, d)
	if c.fail != nil {
		return "", c.fail
	}
	return v, err
}

func documents(t *testing.T, d store.Docs) []store.Doc {
	t.Helper()
	all := must.Get(d.List(t.Context(), "journal/"))(t)
	return all
}

// TestFewDocuments: single records share documents, none of which is large or holds more than an hour.
func TestFewDocuments(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		docs := memory.New().Open()
		j := journal.NewDocs(docs, "m1", forever)
		same := []journal.Record{said(0, "checks/web", "dial tcp 192.0.2.1:443: connection refused")} // each time it happens anew
		for range 1000 {
			must.Succeed(t, j.Append(t.Context(), same...))
			time.Sleep(10 * time.Second) // 2 h 47 min in all
		}
		all := documents(t, docs)
		if len(all) > 40 {
			t.Errorf("%d documents of 1,000 records", len(all))
		}
		hours := map[string]bool{}
		for _, d := range all {
			hours[strings.Split(d.Key, "/")[1]] = true
			if len(d.Value) > 8<<10 {
				t.Errorf("a document of %d bytes", len(d.Value))
			}
		}
		if len(hours) < 3 {
			t.Errorf("documents of %d hours", len(hours))
		}
		if got, err := j.Read(t.Context(), journal.Query{Limit: 2000}); err != nil || len(got) != 1000 {
			t.Errorf("read %d records, %v", len(got), err)
		}
	})
}

// TestARemovedDocumentIsBegunAgain: somebody's sweep took the document that grew.
func TestARemovedDocumentIsBegunAgain(t *testing.T) {
	t.Parallel()
	docs := memory.New().Open()
	j := journal.NewDocs(docs, "m1", 0)
	for i := range 3 {
		must.Succeed(t, j.Append(t.Context(), said(0, "a", fmt.Sprint(i))))
		if i == 1 {
			for _, d := range documents(t, docs) {
				must.Succeed(t, docs.Delete(t.Context(), d.Key, d.Version))
			}
		}
	}
	if got, err := j.Read(t.Context(), journal.Query{}); err != nil || messages(got) != "2" {
		t.Errorf("got %q, %v", messages(got), err)
	}
}

// TestAnUnknownWriteLosesNothing: the record is written again, into a document whose version is known.
func TestAnUnknownWriteLosesNothing(t *testing.T) {
	t.Parallel()
	docs := &counted{Docs: memory.New().Open()}
	j := journal.NewDocs(docs, "m1", 0)
	for i := range 6 {
		if i == 2 {
			docs.fail = store.ErrUnknown
			if err := j.Append(t.Context(), said(0, "a", fmt.Sprint(i))); err == nil {
				t.Fatal("the outcome is known")
			}
			docs.fail = nil
		}
		must.Succeed(t, j.Append(t.Context(), said(0, "a", fmt.Sprint(i))))
	}
	got, err := j.Read(t.Context(), journal.Query{})
	if all := strings.Fields(messages(got)); err != nil ||
		!slices.Equal(slices.Compact(all), []string{"0", "1", "2", "3", "4", "5"}) {
		t.Errorf("got %q, %v", messages(got), err)
	}
}

// TestReadStopsEarly: a query that the newest hours answer does not ask for older ones.
func TestReadStopsEarly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		docs := &counted{Docs: memory.New().Open()}
		j := journal.NewDocs(docs, "m1", forever)
		for range 48 {
			for range 10 {
				must.Succeed(t, j.Append(t.Context(), said(0, "a", "x")))
			}
			time.Sleep(time.Hour)
		}
		for limit, want := range map[int]int{5: 3, 10: 3, 15: 4, 1000: 15} {
			docs.lists = nil
			if _, err := j.Read(t.Context(),
				journal.Query{Since: time.Now().Add(-47 * time.Hour), Limit: limit}); err != nil {
				t.Fatal(err)
			}
			if len(docs.lists) != want || (limit < 1000) == slices.Contains(docs.lists, "journal/") {
				t.Errorf("limit %d: listed %v", limit, docs.lists)
			}
		}
	})
}

// TestAnOldRecordInANewDocument: a batch of two hours is under the later one, and does not hide what is newer in the
// earlier one.
func TestAnOldRecordInANewDocument(t *testing.T) {
	t.Parallel()
	const hour = 1795190400000
	server := memory.New()
	for i, batch := range [][]journal.Record{
		{said(hour+50*60_000, "a", "two")},
		{said(hour+10*60_000, "a", "one"), said(hour+60*60_000, "a", "three")},
	} {
		must.Succeed(t, journal.NewDocs(server.Open(), fmt.Sprint("m", i), forever).Append(t.Context(), batch...))
	}
	j := journal.NewDocs(server.Open(), "observer", forever)
	for limit, want := range map[int]string{1: "three", 2: "two three", 3: "one two three"} {
		for _, task := range []string{"", "a"} {
			if got, err := j.Read(t.Context(), journal.Query{Partition: task, Limit: limit}); err != nil ||
				messages(got) != want {
				t.Errorf("limit %d, task %q: got %q, %v", limit, task, messages(got), err)
			}
		}
	}
}
