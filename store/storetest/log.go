package storetest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/rota-run/rota/store"
)

// Log is the suite of store.Log.
func Log[S store.Log](t *testing.T, open Open[S]) {
	runRules(t, open, append([]rule[S]{
		{"paging", logPaging[S]},
		{"read your appends", logReadYourAppends[S]},
		{"caller keeps its bytes", logOwnership[S]},
		{"snapshot", logSnapshot[S]},
		{"trim", logTrim[S]},
		{"trim never beyond the snapshot", logTrimBound[S]},
		{"linearizable", logLinearizable[S]},
	}, refusing(logRefuse[S])...))
}

func appendTo(t *testing.T, ctx context.Context, s store.Log, data string) uint64 {
	t.Helper()
	i, err := s.Append(ctx, []byte(data))
	if err != nil {
		t.Fatalf("append %.20q: %v", data, err)
	}
	if i == 0 {
		t.Fatalf("append %.20q returned index 0", data)
	}
	return i
}

func read(t *testing.T, ctx context.Context, s store.Log, after uint64, limit int) store.Page {
	t.Helper()
	page, err := s.Read(ctx, after, limit)
	if err != nil {
		t.Fatalf("read after %d: %v", after, err)
	}
	if len(page.Records) > limit {
		t.Fatalf("read after %d: %d records, limit was %d", after, len(page.Records), limit)
	}
	last := after
	for _, r := range page.Records {
		if r.Index <= last || r.Index > page.Head {
			t.Fatalf("read after %d: index %d follows %d, head is %d", after, r.Index, last, page.Head)
		}
		last = r.Index
	}
	return page
}

// readAll reads up to the head, with pages of the given size.
func readAll(t *testing.T, ctx context.Context, s store.Log, after uint64, limit int) []store.Record {
	t.Helper()
	var all []store.Record
	for {
		page := read(t, ctx, s, after, limit)
		all = append(all, page.Records...)
		if after >= page.Head || len(page.Records) == 0 {
			return all
		}
		after = page.Records[len(page.Records)-1].Index
	}
}

func wantData(t *testing.T, what string, records []store.Record, want ...string) {
	t.Helper()
	var got []string
	for _, r := range records {
		got = append(got, string(r.Data))
	}
	if strings.Join(got, "\x00") != strings.Join(want, "\x00") || len(got) != len(want) {
		t.Fatalf("%s: records %.300q, want %.300q", what, got, want)
	}
}

func logPaging[S store.Log](t *testing.T, open Open[S]) {
	s, ctx := single(t, open)
	if page := read(t, ctx, s, 0, 10); len(page.Records) != 0 || page.Head != 0 {
		t.Fatalf("empty log: %d records, head %d", len(page.Records), page.Head)
	}
	wantError(t, "snapshot of an empty log", errOf(s.Snapshot(ctx)), store.ErrNotFound)
	succeed(t, "trim an empty log", s.Trim(ctx, 100))
	want := []string{"", "\x00", "\xff\xfe\x00", strings.Repeat("ab", 64<<10), "r4", "r5", "r6", "r7", "r8", "r9"}
	var indexes []uint64
	for _, data := range want {
		indexes = append(indexes, appendTo(t, ctx, s, data))
	}
	for _, limit := range []int{1, 3, 10, 11, 1 << 20} {
		wantData(t, fmt.Sprint("limit ", limit), readAll(t, ctx, s, 0, limit), want...)
	}
	for i, index := range indexes {
		wantData(t, fmt.Sprint("after ", index), readAll(t, ctx, s, index, 4), want[i+1:]...)
	}
	page := read(t, ctx, s, 0, 3)
	if page.Head != indexes[9] || len(page.Records) == 0 {
		t.Fatalf("short page: %d records, head %d; want some and %d", len(page.Records), page.Head, indexes[9])
	}
	beyond := read(t, ctx, s, indexes[9]+1000, 3)
	if beyond.Head != indexes[9] || len(beyond.Records) != 0 {
		t.Fatalf("beyond the head: %d records, head %d; want 0 and %d", len(beyond.Records), beyond.Head, indexes[9])
	}
	for _, limit := range []int{0, -1} {
		if _, err := s.Read(ctx, 0, limit); err == nil {
			t.Errorf("read with limit %d: no error", limit)
		}
	}
}

// logReadYourAppends has three handles in turn: index and head grow for all of them.
func logReadYourAppends[S store.Log](t *testing.T, open Open[S]) {
	handle, ctx := open(t), deadline(t)
	handles, after := []S{handle(t), handle(t), handle(t)}, uint64(0)
	for i := range 20 {
		want := fmt.Sprint("r", i)
		index := appendTo(t, ctx, handles[i%3], want)
		for n, s := range handles {
			page := read(t, ctx, s, after, 10)
			wantData(t, fmt.Sprint("handle ", n), page.Records, want)
			if page.Head != index || page.Records[0].Index != index {
				t.Fatalf("appended at %d, read at %d, head %d", index, page.Records[0].Index, page.Head)
			}
		}
		after = index
	}
}

func logOwnership[S store.Log](t *testing.T, open Open[S]) {
	s, ctx := single(t, open)
	data := []byte("mine")
	index, err := s.Append(ctx, data)
	succeed(t, "append", err)
	copy(data, "XXXX")
	wantData(t, "after the caller's change", readAll(t, ctx, s, 0, 1), "mine")
	copy(read(t, ctx, s, 0, 1).Records[0].Data, "YYYY")
	wantData(t, "after the reader's change", readAll(t, ctx, s, 0, 1), "mine")
	snapshot := []byte("snap")
	succeed(t, "save snapshot", s.SaveSnapshot(ctx, store.Record{Index: index, Data: snapshot}))
	copy(snapshot, "ZZZZ")
	wantSnapshot(t, ctx, s, index, "snap")
}

func logRefuse[S store.Log](t *testing.T, ctx context.Context, s S) (all calls, unchanged func()) {
	index := appendTo(t, ctx, s, "one")
	return calls{
			"append":   func(ctx context.Context) error { _, err := s.Append(ctx, []byte("two")); return err },
			"read":     func(ctx context.Context) error { _, err := s.Read(ctx, 0, 1); return err },
			"snapshot": func(ctx context.Context) error { _, err := s.Snapshot(ctx); return err },
			"save":     func(ctx context.Context) error { return s.SaveSnapshot(ctx, store.Record{Index: index}) },
			"trim":     func(ctx context.Context) error { return s.Trim(ctx, index) },
		}, func() {
			appendTo(t, ctx, s, "three")
			wantData(t, "after the cancelled call", readAll(t, ctx, s, 0, 10), "one", "three")
			wantError(t, "snapshot after a cancelled save", errOf(s.Snapshot(ctx)), store.ErrNotFound)
		}
}
