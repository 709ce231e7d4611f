package journal_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/journal"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
)

// forever keeps records of fixed times, whatever the date is when the test runs.
const forever = 200 * 365 * 24 * time.Hour

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func said(at int64, partition, message string) journal.Record {
	return journal.Record{AtMS: at, Kind: journal.RunError, Partition: partition, Message: message}
}

func messages(records []journal.Record) string {
	var out []string
	for _, r := range records {
		out = append(out, r.Message)
	}
	return strings.Join(out, " ")
}

// both runs a test on each journal that keeps records.
func both(t *testing.T, test func(t *testing.T, j journal.Journal)) {
	t.Run("docs", func(t *testing.T) { t.Parallel(); test(t, journal.NewDocs(memory.New().Open(), "m1", 0)) })
	t.Run("memory", func(t *testing.T) { t.Parallel(); test(t, journal.NewMemory(0)) })
}

func TestReadSelects(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, j journal.Journal) {
		now := time.Now().UnixMilli()
		batches := [][]journal.Record{
			{said(now-2*3600_000, "a", "old"), said(now-3000, "a#1", "three")},
			{said(now-4000, "a/b", "four"), said(now-5000, "ab", "five")},
			{said(now-3000, "a", "three-again")},
		}
		for _, b := range batches {
			must.Succeed(t, j.Append(t.Context(), b...))
		}
		for _, c := range []struct {
			q    journal.Query
			want string
		}{
			{journal.Query{}, "old five four three three-again"},
			{journal.Query{Partition: "a"}, "old four three three-again"},
			{journal.Query{Partition: "a#1"}, "three"},
			{journal.Query{Partition: "none"}, ""},
			{journal.Query{Limit: 2}, "three three-again"},
			{journal.Query{Kinds: []journal.Kind{journal.Moved, journal.RunError}, Limit: 1}, "three-again"},
			{journal.Query{Kinds: []journal.Kind{journal.Moved}}, ""},
			{journal.Query{Limit: -1}, "old five four three three-again"},
			{journal.Query{Since: time.UnixMilli(now - 4000)}, "four three three-again"},
			{journal.Query{Since: time.UnixMilli(now - 4000), Limit: 1, Partition: "a/b"}, "four"},
			{journal.Query{Since: time.UnixMilli(now + 3600_000)}, ""},
			{journal.Query{Until: time.UnixMilli(now - 3000)}, "old five four"},
			{journal.Query{Until: time.UnixMilli(now - 2999)}, "old five four three three-again"},
		} {
			got, err := j.Read(t.Context(), c.q)
			if err != nil || messages(got) != c.want {
				t.Errorf("%+v: got %q, %v, want %q", c.q, messages(got), err, c.want)
			}
		}
	})
}

func TestMembersDoNotCollide(t *testing.T) {
	t.Parallel()
	server := memory.New()
	for _, j := range []journal.Journal{journal.NewDocs(server.Open(), "m1", forever),
		journal.NewDocs(server.Open(), "m1", forever), journal.NewDocs(server.Open(), "m2", forever)} {
		for range 3 {
			must.Succeed(t, j.Append(t.Context(), said(1795190400123, "a", "x")))
		}
	}
	got, err := journal.NewDocs(server.Open(), "observer", forever).Read(t.Context(), journal.Query{})
	if err != nil || len(got) != 9 {
		t.Errorf("got %d records, %v, want 9", len(got), err)
	}
}

func TestOldRecordsAreRemoved(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		docs := memory.New().Open()
		j := journal.NewDocs(docs, "m1", 48*time.Hour)
		for range 100 { // one an hour
			must.Succeed(t, j.Append(t.Context(), said(0, "a", "x")))
			time.Sleep(time.Hour)
		}
		left, err := docs.List(t.Context(), "")
		if err != nil || len(left) != 49 {
			t.Errorf("%d documents left, %v; want those of 48 hours and the present one", len(left), err)
		}
	})
}

func TestManyOldDocumentsAreRemovedBitByBit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		docs := memory.New().Open()
		for range 1200 {
			must.Succeed(t, journal.NewDocs(docs, "m1", time.Hour).Append(t.Context(), said(0, "a", "old")))
			time.Sleep(time.Nanosecond)
		}
		time.Sleep(3 * time.Hour)
		j := journal.NewDocs(docs, "m2", time.Hour)
		var left []int
		for range 4 {
			must.Succeed(t, j.Append(t.Context(), said(0, "a", "new")))
			all := must.Get(docs.List(t.Context(), "journal/"))(t)
			left = append(left, len(all))
		}
		if want := []int{701, 201, 1, 1}; !slices.Equal(left, want) {
			t.Errorf("got %v documents after each append, want %v", left, want)
		}
	})
}

func TestBrokenDocumentHidesNothing(t *testing.T) {
	t.Parallel()
	docs := memory.New().Open()
	j := journal.NewDocs(docs, "m1", forever)
	must.Succeed(t, j.Append(t.Context(), said(1795190400124, "a", "good")))
	for _, key := range []string{"journal/2026112013/1795190400123-m1-x-1", "journal/what", "journal/a/b/c"} {
		must.Succeed(t, must.Err(docs.Put(t.Context(), store.Doc{Key: key, Value: []byte("{")})))
	}
	got, err := j.Read(t.Context(), journal.Query{})
	if err != nil || len(got) != 4 || got[3].Message != "good" || got[2].AtMS != 1795190400123 ||
		got[2].Kind != journal.Unreadable || got[0].AtMS != 0 {
		t.Errorf("got %+v, %v", got, err)
	}
	docs.Close()
	if got, err := j.Read(t.Context(), journal.Query{}); !errors.Is(err, store.ErrClosed) {
		t.Errorf("a store that is closed: %v, %v", got, err)
	}
}

func TestTimesOutOfRange(t *testing.T) {
	t.Parallel()
	j := journal.NewDocs(memory.New().Open(), "m1", forever)
	for _, at := range []int64{-1 << 63, -1, 0, 1, 1<<63 - 1} {
		if err := j.Append(t.Context(), said(at, "a", "x")); err != nil {
			t.Errorf("at %d: %v", at, err)
		}
	}
	if got, err := j.Read(t.Context(), journal.Query{}); err != nil || len(got) != 5 {
		t.Errorf("got %d records, %v", len(got), err)
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	gap, overlap, none := int64(12), int64(-90), int64(0)
	for want, r := range map[string]journal.Record{
		"checks/web-eu  web-3 → web-1  web-3 left gracefully  gap 12ms": {Kind: journal.Moved,
			Partition: "checks/web-eu", From: "web-3", To: "web-1", Cause: "web-3 left gracefully", GapMS: &gap},
		"a  → web-1  overlap 90ms": {Kind: journal.Moved, Partition: "a", To: "web-1", GapMS: &overlap},
		"a  → web-1  gap 0s":       {Kind: journal.Moved, Partition: "a", To: "web-1", GapMS: &none},
		"a  → web-1  gap unknown":  {Kind: journal.Moved, Partition: "a", To: "web-1"},
		"a  lost with web-1":       {Kind: journal.Suspended, Partition: "a", From: "web-1", Message: "lost with web-1"},
		"a  killed  by me@host": {Kind: journal.Asked, Partition: "a",
			Member: "web-1", By: "me@host", Message: "killed"},
		"a  gap unknown, at least 90ms": {Kind: journal.Resumed, Partition: "a", GapAtLeastMS: new(-overlap)},
		"a  killed":                     {Kind: journal.Asked, Partition: "a", Message: "killed"},
		"a  failed  gap 12ms": {Kind: journal.RunError, Partition: "a",
			Member: "web-1", Message: "failed", GapMS: &gap},
		"a  dial: refused  [31mred": {Kind: journal.RunError, Partition: "a", Message: "dial:\nrefused\x1b\x1b[31mred"},
		"tasks/a.yaml  it is empty": {Kind: journal.Malformed, Partition: "a",
			Message: "it is empty", Storage: &journal.Storage{Path: "tasks/a.yaml"}},
	} {
		if got := r.Line(); got != want || !strings.HasSuffix(r.String(), "  "+want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	r := journal.Record{AtMS: 0, Kind: journal.Malformed, Message: "m",
		Storage: &journal.Storage{Path: "p", Line: 2, Column: 3, Lines: []string{"     2 │ \x1b[2Jx", "       │   ^"}}}
	if got, want := r.String()[8:], "  malformed-task-error  p:2:3  m\n           2 │  [2Jx\n             │   ^"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestRecordsSurviveJSON(t *testing.T) {
	t.Parallel()
	gap := int64(-5)
	const year10000 = 253402300800000 // one digit more than a key has
	in := journal.Record{AtMS: year10000, Kind: journal.Malformed, Member: "m", Partition: "p", Message: "x", From: "a",
		To: "b", Cause: "c", Token: 1<<64 - 1, GapMS: &gap,
		Storage: &journal.Storage{Type: "directory", Path: "p", Line: 1, Column: 2, Lines: []string{"l"}}}
	docs := journal.NewDocs(memory.New().Open(), "m1", forever)
	must.Succeed(t, docs.Append(t.Context(), in))
	must.Succeed(t, docs.Append(t.Context(), said(-1, "a", "a time that is none")))
	out, err := docs.Read(t.Context(), journal.Query{})
	if err != nil || len(out) != 2 || out[0].AtMS < 0 {
		t.Fatalf("got %+v, %v", out, err)
	}
	want, err1 := json.Marshal(in)
	got, err2 := json.Marshal(out[1])
	if errors.Join(err1, err2) != nil || string(got) != string(want) {
		t.Errorf("got %s, want %s", got, want)
	}
}

// A file has a line for each record, and may be renamed between two of them.
func TestFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "journal.jsonl")
	f := must.Get(journal.NewFile(path))(t)
	must.Succeed(t, f.Append(t.Context(), said(1, "a", "<one>"), said(2, "b", "two\nlines")))
	must.Succeed(t, os.Rename(path, path+".1"))
	must.Succeed(t, f.Append(t.Context(), said(3, "a", "three")))
	must.Succeed(t, f.Append(t.Context(), said(4, "a", "four")))
	for name, want := range map[string][]string{path + ".1": {`"message":"<one>"`, `"message":"two\nlines"`},
		path: {`"message":"three"`, `"message":"four"`}} {
		text := must.Get(os.ReadFile(name))(t)
		lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
		if len(lines) != len(want) {
			t.Fatalf("%s has %d lines, want %d: %s", name, len(lines), len(want), text)
		}
		for i, w := range want {
			if !strings.Contains(lines[i], w) {
				t.Errorf("line %s lacks %s", lines[i], w)
			}
		}
	}
	must.Succeed(t, errors.Join(os.Remove(path), os.Mkdir(path, 0o700)))
	if err := f.Append(t.Context(), said(5, "a", "five")); err == nil {
		t.Error("it is written into a folder")
	}
	if _, err := journal.NewFile(filepath.Join(path+".1", "x")); err == nil {
		t.Error("a file below a file: no error")
	}
	if _, err := journal.NewFile("/dev/full"); !errors.Is(err, syscall.ENOSPC) { // as an Append says it
		t.Errorf("a disk that is full: %v", err)
	}
}
