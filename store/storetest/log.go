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
	runRules(t, open, refusing(logRefuse, logRules...)...)
}

func (t *test) append(s store.Log, data string) uint64 {
	t.Helper()
	i, err := s.Append(t.ctx, []byte(data))
	if err != nil || i == 0 {
		t.Fatalf("append %.20q: index %d, %v", data, i, err)
	}
	return i
}

// fill appends r0, r1, ... and returns their indexes.
func (t *test) fill(s store.Log, n int) (indexes []uint64) {
	t.Helper()
	for i := range n {
		indexes = append(indexes, t.append(s, fmt.Sprint("r", i)))
	}
	return indexes
}

func (t *test) read(s store.Log, after uint64, limit int) store.Page {
	t.Helper()
	page, err := s.Read(t.ctx, after, limit)
	if err != nil || len(page.Records) > limit {
		t.Fatalf("read of %d after %d: %d records, %v", limit, after, len(page.Records), err)
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

// all reads up to the head, with pages of the given size.
func (t *test) all(s store.Log, after uint64, limit int) (all []store.Record) {
	t.Helper()
	for {
		page := t.read(s, after, limit)
		all = append(all, page.Records...)
		if after >= page.Head || len(page.Records) == 0 {
			return all
		}
		after = page.Records[len(page.Records)-1].Index
	}
}

// data wants records to have these data.
func (t *test) data(what string, records []store.Record, want ...string) {
	t.Helper()
	var got []string
	for _, r := range records {
		got = append(got, string(r.Data))
	}
	if strings.Join(got, "\x00") != strings.Join(want, "\x00") || len(got) != len(want) {
		t.Fatalf("%s: records %.300q, want %.300q", what, got, want)
	}
}

// ends wants nothing to be behind an index, which is the head.
func (t *test) ends(what string, s store.Log, after, head uint64) {
	t.Helper()
	if page := t.read(s, after, 10); len(page.Records) != 0 || page.Head != head {
		t.Fatalf("%s: %d records, head %d; want none and %d", what, len(page.Records), page.Head, head)
	}
}

func (t *test) save(s store.Log, index uint64, data string) {
	t.Helper()
	t.succeed(fmt.Sprint("save snapshot at ", index),
		s.SaveSnapshot(t.ctx, store.Record{Index: index, Data: []byte(data)}))
}

// snapshot wants the snapshot to be so.
func (t *test) snapshot(s store.Log, index uint64, data string) {
	t.Helper()
	if got, err := s.Snapshot(t.ctx); err != nil || got.Index != index || string(got.Data) != data {
		t.Fatalf("snapshot is %q at %d, %v; want %q at %d", got.Data, got.Index, err, data, index)
	}
}

var logRules = []rule[store.Log]{
	{"paging", func(t *test, open func() store.Log) {
		s := open()
		t.ends("an empty log", s, 0, 0)
		t.fails("snapshot of an empty log", errOf(s.Snapshot(t.ctx)), store.ErrNotFound)
		t.succeed("trim an empty log", s.Trim(t.ctx, 100))
		want := []string{"", "\x00", "\xff\xfe\x00", strings.Repeat("ab", 64<<10), "r4", "r5", "r6", "r7", "r8", "r9"}
		var indexes []uint64
		for _, data := range want {
			indexes = append(indexes, t.append(s, data))
		}
		for _, limit := range []int{1, 3, 10, 11, 1 << 20} {
			t.data(fmt.Sprint("limit ", limit), t.all(s, 0, limit), want...)
		}
		for i, index := range indexes {
			t.data(fmt.Sprint("after ", index), t.all(s, index, 4), want[i+1:]...)
		}
		if page := t.read(s, 0, 3); page.Head != indexes[9] || len(page.Records) == 0 {
			t.Fatalf("short page: %d records, head %d; want some and %d", len(page.Records), page.Head, indexes[9])
		}
		t.ends("beyond the head", s, indexes[9]+1000, indexes[9])
		for _, limit := range []int{0, -1} {
			if errOf(s.Read(t.ctx, 0, limit)) == nil {
				t.Errorf("read with limit %d: no error", limit)
			}
		}
	}},
	{"caller keeps its bytes", func(t *test, open func() store.Log) {
		s, data, snapshot := open(), []byte("mine"), []byte("snap")
		index, err := s.Append(t.ctx, data)
		t.succeed("append", err)
		copy(data, "XXXX")
		t.data("after the caller's change", t.all(s, 0, 1), "mine")
		copy(t.read(s, 0, 1).Records[0].Data, "YYYY")
		t.data("after the reader's change", t.all(s, 0, 1), "mine")
		t.succeed("save snapshot", s.SaveSnapshot(t.ctx, store.Record{Index: index, Data: snapshot}))
		copy(snapshot, "ZZZZ")
		t.snapshot(s, index, "snap")
	}},
	{"snapshot", func(t *test, open func() store.Log) {
		a, b := open(), open()
		index := t.fill(a, 6)
		t.save(a, index[2], "at 2")
		t.snapshot(b, index[2], "at 2")
		t.save(b, index[4], "at 4")
		t.snapshot(a, index[4], "at 4")
		t.save(a, index[3], "older")
		t.snapshot(a, index[4], "at 4")
		t.save(a, index[5], "")
		t.snapshot(b, index[5], "")
		for _, wrong := range []uint64{0, index[5] + 1000} {
			if a.SaveSnapshot(t.ctx, store.Record{Index: wrong}) == nil {
				t.Fatalf("a snapshot at %d was taken, the head is %d", wrong, index[5])
			}
		}
		t.data("snapshots leave the log", t.all(a, 0, 10), "r0", "r1", "r2", "r3", "r4", "r5")
	}},
	{"trim", func(t *test, open func() store.Log) {
		a, b := open(), open()
		index := t.fill(a, 6)
		t.save(a, index[3], "at 3")
		t.succeed("trim", a.Trim(t.ctx, index[2]))
		for _, after := range []uint64{0, index[0], index[1]} {
			t.fails(fmt.Sprint("read after ", after), errOf(b.Read(t.ctx, after, 10)), store.ErrTruncated)
		}
		t.data("the rest", t.all(b, index[2], 10), "r3", "r4", "r5")
		t.succeed("trim what is trimmed", b.Trim(t.ctx, index[0]))
		t.data("after an older trim", t.all(a, index[2], 10), "r3", "r4", "r5")
		t.snapshot(b, index[3], "at 3")
		last := index[5]
		t.save(a, last, "all")
		t.succeed("trim all", a.Trim(t.ctx, last))
		t.fails("read before the end of the trimmed", errOf(b.Read(t.ctx, index[4], 10)), store.ErrTruncated)
		t.ends("all trimmed", b, last, last)
		if next := t.append(b, "next"); next <= last {
			t.Fatalf("index %d was given again after %d", next, last)
		}
		t.data("after trimming all", t.all(a, last, 10), "next")
	}},
	{"trim never beyond the snapshot", func(t *test, open func() store.Log) {
		s := open()
		index := t.fill(s, 6)
		t.succeed("trim without a snapshot", s.Trim(t.ctx, index[5]))
		t.data("no snapshot, nothing trimmed", t.all(s, 0, 10), "r0", "r1", "r2", "r3", "r4", "r5")
		t.save(s, index[1], "at 1")
		t.succeed("trim", s.Trim(t.ctx, index[5]))
		t.data("trimmed to the snapshot", t.all(s, index[1], 10), "r2", "r3", "r4", "r5")
	}},
	{"linearizable", func(t *test, open func() store.Log) {
		h := newHistory(true)
		h.checkLog(t, atOnce(t, open, 6, 50, logCalls(h)))
	}},
}

func logRefuse(t *test, s store.Log) (all calls, unchanged func()) {
	index := t.append(s, "one")
	return calls{
			"append":   func(ctx context.Context) error { return errOf(s.Append(ctx, []byte("two"))) },
			"read":     func(ctx context.Context) error { return errOf(s.Read(ctx, 0, 1)) },
			"snapshot": func(ctx context.Context) error { return errOf(s.Snapshot(ctx)) },
			"save":     func(ctx context.Context) error { return s.SaveSnapshot(ctx, store.Record{Index: index}) },
			"trim":     func(ctx context.Context) error { return s.Trim(ctx, index) },
		}, func() {
			t.append(s, "three")
			t.data("after the cancelled call", t.all(s, 0, 10), "one", "three")
			t.fails("snapshot after a cancelled save", errOf(s.Snapshot(t.ctx)), store.ErrNotFound)
		}
}

// LogAndSeeder is what Seed needs.
type LogAndSeeder interface {
	store.Log
	store.Seeder
}

// Seed is the suite of store.Seeder.
func Seed[S LogAndSeeder](t *testing.T, open Open[S]) {
	runRules(t, open, refusing(func(_ *test, s LogAndSeeder) (calls, func()) {
		return calls{"seed": func(ctx context.Context) error { return s.SeedLog(ctx, 5) }}, nil
	}, seedRules...)...)
}

// seedAt is far behind what a store would reach by itself.
const seedAt = 1_000_000

var seedRules = []rule[LogAndSeeder]{
	{"a log behind another one's end", func(t *test, open func() LogAndSeeder) {
		a, b := open(), open()
		t.ends("an empty log", b, 0, 0)
		t.succeed("seed", a.SeedLog(t.ctx, seedAt))
		t.fails("read from the beginning", errOf(b.Read(t.ctx, 0, 10)), store.ErrTruncated)
		t.fails("snapshot", errOf(b.Snapshot(t.ctx)), store.ErrNotFound)
		t.ends("behind the seed", b, seedAt, seedAt)
		t.save(a, seedAt, "all")
		i := t.append(b, "next")
		if p := t.read(a, seedAt, 10); len(p.Records) != 1 || i <= seedAt || p.Head != i ||
			string(p.Records[0].Data) != "next" {
			t.Errorf("behind the seed, after an append at %d: %+v", i, p)
		}
	}},
	{"again", func(t *test, open func() LogAndSeeder) {
		for range 2 {
			t.succeed("seed", open().SeedLog(t.ctx, seedAt))
		}
		t.fails("another index", open().SeedLog(t.ctx, seedAt+1), store.ErrConflict)
		t.save(open(), seedAt, "all")
		t.fails("a log with a snapshot", open().SeedLog(t.ctx, seedAt), store.ErrConflict)
	}},
	{"not where something is", func(t *test, open func() LogAndSeeder) {
		s := open()
		for _, index := range []uint64{0, 1 << 63} {
			if s.SeedLog(t.ctx, index) == nil {
				t.Errorf("seed at %d was taken", index)
			}
		}
		i := t.append(s, "first")
		for _, is := range []string{"with a record", "that was trimmed"} {
			for _, index := range []uint64{i, seedAt} {
				t.fails("seed a log "+is, s.SeedLog(t.ctx, index), store.ErrConflict)
			}
			t.save(s, i, "x")
			t.succeed("trim", s.Trim(t.ctx, i))
		}
	}},
}
