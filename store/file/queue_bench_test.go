package file

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/store"
)

// hop is how many messages, of 100 segments of 200 bytes, go through one transaction.
const hop = 16

// BenchmarkHop moves messages from one shard to the next: received, and committed with their outputs.
func BenchmarkHop(b *testing.B) {
	s := openIn(b, place(b), Options{})
	ctx := context.Background()
	in, out := store.Shard{Edge: "in"}, store.Shard{Edge: "out"}
	must.Succeed(b, s.MakeFlow(ctx, "f@1", []store.Shard{in, out}))
	data := make([]byte, 20_000)
	outputs := func(to store.Shard) (all []store.Put) {
		for range hop {
			all = append(all, store.Put{Shard: to, Segments: 100, Data: data})
		}
		return all
	}
	must.Succeed(b, must.Err(s.Commit(ctx, "f@1", store.Unit{Name: "first", Outputs: outputs(in)})))
	for b.Loop() {
		got, err := s.Receive(ctx, "f@1", store.Receive{Shard: in, Limit: hop, Lease: time.Minute})
		if err != nil || len(got) != hop {
			b.Fatalf("%d messages, %v", len(got), err)
		}
		units := make([]store.Unit, hop)
		for i := range units {
			units[i] = store.Unit{Inputs: got[i : i+1], Outputs: []store.Put{{Shard: out, Segments: 100, Data: got[i].Data}}}
		}
		must.Succeed(b, must.Err(s.Commit(ctx, "f@1", units...)))
		in, out = out, in
	}
	b.ReportMetric(float64(b.N*hop*100)/b.Elapsed().Seconds(), "segments/s")
}

// BenchmarkBareHop is the least that SQLite must do for it: select the inputs; delete them and insert the outputs in one transaction.
func BenchmarkBareHop(b *testing.B) {
	db, err := sql.Open("sqlite", "file:"+filepath.Join(b.TempDir(), "bare.db")+"?_pragma=journal_mode(wal)&_pragma=synchronous(full)")
	must.Succeed(b, err)
	defer db.Close()
	db.SetMaxOpenConns(1)
	run := func(err error) {
		must.Succeed(b, err)
	}
	for _, name := range []string{"a", "b"} {
		_, err := db.Exec("CREATE TABLE " + name + " (id INTEGER PRIMARY KEY, data BLOB NOT NULL)")
		run(err)
	}
	data := make([]byte, 20_000)
	for i := range hop {
		_, err := db.Exec("INSERT INTO a VALUES (?, ?)", i, data)
		run(err)
	}
	in, out := "a", "b"
	for b.Loop() {
		run(bareHop(db, in, out))
		in, out = out, in
	}
	b.ReportMetric(float64(b.N*hop*100)/b.Elapsed().Seconds(), "segments/s")
}

func bareHop(db *sql.DB, in, out string) error {
	rows, err := db.Query("SELECT id, data FROM " + in)
	if err != nil {
		return err
	}
	defer rows.Close()
	ids, all := []int64{}, [][]byte{}
	for rows.Next() {
		var id int64
		var data []byte
		if err := rows.Scan(&id, &data); err != nil {
			return err
		}
		ids, all = append(ids, id), append(all, data)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil || len(ids) != hop {
		return fmt.Errorf("%d rows, %w", len(ids), err)
	}
	tx, err := db.Begin()
	if err != nil {
		return err
	}
	for i, id := range ids {
		if _, err := tx.Exec("DELETE FROM "+in+" WHERE id = ?", id); err != nil {
			return err
		}
		if _, err := tx.Exec("INSERT INTO "+out+" VALUES (?, ?)", id, all[i]); err != nil {
			return err
		}
	}
	return tx.Commit()
}
