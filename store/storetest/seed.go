package storetest

import (
	"context"
	"testing"

	"github.com/rota-run/rota/store"
)

// LogAndSeeder is what Seed needs.
type LogAndSeeder interface {
	store.Log
	store.Seeder
}

// Seed is the suite of store.Seeder.
func Seed[S LogAndSeeder](t *testing.T, open Open[S]) {
	runRules(t, open, append([]rule[S]{
		{"a log behind another one's end", seedEmpty[S]},
		{"again", seedAgain[S]},
		{"not where something is", seedConflict[S]},
	}, refusing(func(_ *testing.T, _ context.Context, s S) (calls, func()) {
		return calls{"seed": func(ctx context.Context) error { return s.SeedLog(ctx, 5) }}, nil
	})...))
}

// seedAt is far behind what a store would reach by itself.
const seedAt = 1_000_000

func seedEmpty[S LogAndSeeder](t *testing.T, open Open[S]) {
	a, b, ctx := pair(t, open)
	if p := read(t, ctx, b, 0, 10); p.Head != 0 {
		t.Fatalf("an empty log has head %d", p.Head)
	}
	succeed(t, "seed", a.SeedLog(ctx, seedAt))
	wantError(t, "read from the beginning", errOf(b.Read(ctx, 0, 10)), store.ErrTruncated)
	wantError(t, "snapshot", errOf(b.Snapshot(ctx)), store.ErrNotFound)
	if p := read(t, ctx, b, seedAt, 10); len(p.Records) > 0 || p.Head != seedAt {
		t.Errorf("behind the seed there are %d records, head %d", len(p.Records), p.Head)
	}
	succeed(t, "save snapshot", a.SaveSnapshot(ctx, store.Record{Index: seedAt, Data: []byte("all")}))
	i := appendTo(t, ctx, b, "next")
	if i <= seedAt {
		t.Errorf("the next index is %d", i)
	}
	if p := read(t, ctx, a, seedAt, 10); len(p.Records) != 1 || p.Head != i || string(p.Records[0].Data) != "next" {
		t.Errorf("behind the seed: %+v", p)
	}
}

func seedAgain[S LogAndSeeder](t *testing.T, open Open[S]) {
	handle, ctx := open(t), deadline(t)
	for range 2 {
		succeed(t, "seed", handle(t).SeedLog(ctx, seedAt))
	}
	wantError(t, "another index", handle(t).SeedLog(ctx, seedAt+1), store.ErrConflict)
	succeed(t, "save snapshot", handle(t).SaveSnapshot(ctx, store.Record{Index: seedAt, Data: []byte("all")}))
	wantError(t, "a log with a snapshot", handle(t).SeedLog(ctx, seedAt), store.ErrConflict)
}

func seedConflict[S LogAndSeeder](t *testing.T, open Open[S]) {
	s, ctx := single(t, open)
	for _, index := range []uint64{0, 1 << 63} {
		if err := s.SeedLog(ctx, index); err == nil {
			t.Errorf("seed at %d was taken", index)
		}
	}
	i := appendTo(t, ctx, s, "first")
	for _, index := range []uint64{i, seedAt} {
		wantError(t, "seed a log with a record", s.SeedLog(ctx, index), store.ErrConflict)
	}
	succeed(t, "save snapshot", s.SaveSnapshot(ctx, store.Record{Index: i, Data: []byte("x")}))
	succeed(t, "trim", s.Trim(ctx, i))
	for _, index := range []uint64{i, seedAt} {
		wantError(t, "seed a log that was trimmed", s.SeedLog(ctx, index), store.ErrConflict)
	}
}
