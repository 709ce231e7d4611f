package storetest

import (
	"context"
	"fmt"
	"testing"

	"github.com/rota-run/rota/store"
)

func save(t *testing.T, ctx context.Context, s store.Log, index uint64, data string) {
	t.Helper()
	if err := s.SaveSnapshot(ctx, store.Record{Index: index, Data: []byte(data)}); err != nil {
		t.Fatalf("save snapshot at %d: %v", index, err)
	}
}

func wantSnapshot(t *testing.T, ctx context.Context, s store.Log, index uint64, data string) {
	t.Helper()
	got, err := s.Snapshot(ctx)
	succeed(t, "snapshot", err)
	if got.Index != index || string(got.Data) != data {
		t.Fatalf("snapshot is %q at %d, want %q at %d", got.Data, got.Index, data, index)
	}
}

// fill appends r0, r1, ... and returns their indexes.
func fill(t *testing.T, ctx context.Context, s store.Log, n int) []uint64 {
	t.Helper()
	var indexes []uint64
	for i := range n {
		indexes = append(indexes, appendTo(t, ctx, s, fmt.Sprint("r", i)))
	}
	return indexes
}

func logSnapshot[S store.Log](t *testing.T, open Open[S]) {
	a, b, ctx := pair(t, open)
	index := fill(t, ctx, a, 6)
	save(t, ctx, a, index[2], "at 2")
	wantSnapshot(t, ctx, b, index[2], "at 2")
	save(t, ctx, b, index[4], "at 4")
	wantSnapshot(t, ctx, a, index[4], "at 4")
	save(t, ctx, a, index[3], "older")
	wantSnapshot(t, ctx, a, index[4], "at 4")
	save(t, ctx, a, index[5], "")
	wantSnapshot(t, ctx, b, index[5], "")
	if err := a.SaveSnapshot(ctx, store.Record{Index: index[5] + 1000}); err == nil {
		t.Fatalf("a snapshot beyond the head was taken")
	}
	if err := a.SaveSnapshot(ctx, store.Record{}); err == nil {
		t.Fatalf("a snapshot at index 0 was taken")
	}
	wantData(t, "snapshots leave the log", readAll(t, ctx, a, 0, 10), "r0", "r1", "r2", "r3", "r4", "r5")
}

func logTrim[S store.Log](t *testing.T, open Open[S]) {
	a, b, ctx := pair(t, open)
	index := fill(t, ctx, a, 6)
	save(t, ctx, a, index[3], "at 3")
	succeed(t, "trim", a.Trim(ctx, index[2]))
	for _, after := range []uint64{0, index[0], index[1]} {
		wantError(t, fmt.Sprint("read after ", after), errOf(b.Read(ctx, after, 10)), store.ErrTruncated)
	}
	wantData(t, "the rest", readAll(t, ctx, b, index[2], 10), "r3", "r4", "r5")
	succeed(t, "trim what is trimmed", b.Trim(ctx, index[0]))
	wantData(t, "after an older trim", readAll(t, ctx, a, index[2], 10), "r3", "r4", "r5")
	wantSnapshot(t, ctx, b, index[3], "at 3")
	last := index[5]
	save(t, ctx, a, last, "all")
	succeed(t, "trim all", a.Trim(ctx, last))
	wantError(t, "read before the end of the trimmed", errOf(b.Read(ctx, index[4], 10)), store.ErrTruncated)
	if page := read(t, ctx, b, last, 10); len(page.Records) != 0 || page.Head != last {
		t.Fatalf("all trimmed: %d records, head %d; want none and %d", len(page.Records), page.Head, last)
	}
	if next := appendTo(t, ctx, b, "next"); next <= last {
		t.Fatalf("index %d was given again after %d", next, last)
	}
	wantData(t, "after trimming all", readAll(t, ctx, a, last, 10), "next")
}

func logTrimBound[S store.Log](t *testing.T, open Open[S]) {
	s, ctx := single(t, open)
	index := fill(t, ctx, s, 6)
	succeed(t, "trim without a snapshot", s.Trim(ctx, index[5]))
	wantData(t, "no snapshot, nothing trimmed", readAll(t, ctx, s, 0, 10), "r0", "r1", "r2", "r3", "r4", "r5")
	save(t, ctx, s, index[1], "at 1")
	succeed(t, "trim", s.Trim(ctx, index[5]))
	wantData(t, "trimmed to the snapshot", readAll(t, ctx, s, index[1], 10), "r2", "r3", "r4", "r5")
}
