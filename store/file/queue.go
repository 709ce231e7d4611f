package file

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rota-run/rota/store"
)

// Flows have tables of their own, made with the first flow: a directory without flows stays as it is. A message's id is its shard's, shifted, plus its
// number: so a shard is one range of ids, and no index is needed. An id is never given twice.
var flowSchema = []string{
	`CREATE TABLE IF NOT EXISTS flows (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE)`,
	`CREATE TABLE IF NOT EXISTS shards (id INTEGER PRIMARY KEY AUTOINCREMENT, flow INTEGER NOT NULL, place INTEGER NOT NULL, edge TEXT NOT NULL,
		number INTEGER NOT NULL, stored INTEGER NOT NULL, segments INTEGER NOT NULL, acked INTEGER NOT NULL, acked_segments INTEGER NOT NULL,
		sealed INTEGER NOT NULL, UNIQUE (flow, edge, number))`,
	`CREATE TABLE IF NOT EXISTS messages (id INTEGER PRIMARY KEY, segments INTEGER NOT NULL, sum INTEGER NOT NULL, data BLOB NOT NULL)`,
	`CREATE TABLE IF NOT EXISTS leases (id INTEGER PRIMARY KEY, since INTEGER NOT NULL, until INTEGER NOT NULL, delivered INTEGER NOT NULL)`,
	`CREATE TABLE IF NOT EXISTS units (flow INTEGER NOT NULL, name TEXT NOT NULL, PRIMARY KEY (flow, name)) WITHOUT ROWID`,
}

// queues are the flows of a handle.
type queues struct{ *disk }

var _ store.Queue = (*queues)(nil)

// numberBits are the lower bits of a message's id.
const numberBits = 40

func messageID(shard int64, number uint64) int64 { return shard<<numberBits | int64(number) } //nolint:gosec // below 2^40

func numberOf(id int64) uint64 { return uint64(id) & (1<<numberBits - 1) } //nolint:gosec // an id is positive

// MakeFlow implements store.Queue.
func (s *queues) MakeFlow(ctx context.Context, flow string, shards []store.Shard) error {
	err := store.CheckFlow(flow, shards)
	if err == nil {
		shards = slices.Clone(shards)
		err = s.change(ctx, len(flow)+64*len(shards), func(tx *tx) error { return makeFlow(tx, flow, shards) })
	}
	return s.wrap(err, "make flow %q", flow)
}

func makeFlow(tx *tx, flow string, shards []store.Shard) error {
	for _, statement := range flowSchema {
		if _, err := tx.exec(statement); err != nil {
			return err
		}
	}
	var id int64
	err := tx.row(`SELECT id FROM flows WHERE name = ?`, []any{flow}, []any{&id})
	if err == nil {
		return sameShards(tx, id, shards)
	}
	if !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	if id, err = tx.insert(`INSERT INTO flows (name) VALUES (?)`, flow); err != nil {
		return err
	}
	for i, shard := range shards {
		if _, err := tx.exec(`INSERT INTO shards (flow, place, edge, number, stored, segments, acked, acked_segments, sealed)
			VALUES (?, ?, ?, ?, 0, 0, 0, 0, 0)`, id, i, shard.Edge, shard.Number); err != nil {
			return err
		}
	}
	return nil
}

// sameShards refuses to make a flow again with other shards.
func sameShards(tx *tx, flow int64, shards []store.Shard) error {
	found, err := tx.column(`SELECT number || ' ' || edge FROM shards WHERE flow = ? ORDER BY place`, flow)
	if err != nil {
		return err
	}
	wanted := make([]string, len(shards))
	for i, shard := range shards {
		wanted[i] = fmt.Sprintf("%d %s", shard.Number, shard.Edge)
	}
	if !slices.Equal(found, wanted) {
		return refuse(fmt.Errorf("it has other shards: %w", store.ErrConflict))
	}
	return nil
}

// DropFlow implements store.Queue.
func (s *queues) DropFlow(ctx context.Context, flow string) error {
	err := s.change(ctx, len(flow), func(tx *tx) error {
		var id int64
		err := tx.row(`SELECT id FROM flows WHERE name = ?`, []any{flow}, []any{&id})
		if errors.Is(err, sql.ErrNoRows) || noTable(err) {
			return nil
		}
		if err != nil {
			return err
		}
		return dropFlow(tx, id)
	})
	return s.wrap(err, "drop flow %q", flow)
}

func dropFlow(tx *tx, flow int64) error {
	ids, err := tx.column(`SELECT id FROM shards WHERE flow = ?`, flow)
	if err != nil {
		return err
	}
	for _, id := range ids {
		for _, statement := range []string{
			`DELETE FROM messages WHERE id > (CAST(?1 AS INTEGER) << 40) AND id < ((CAST(?1 AS INTEGER) + 1) << 40)`,
			`DELETE FROM leases WHERE id > (CAST(?1 AS INTEGER) << 40) AND id < ((CAST(?1 AS INTEGER) + 1) << 40)`,
		} {
			if _, err := tx.exec(statement, id); err != nil {
				return err
			}
		}
	}
	for _, statement := range []string{`DELETE FROM shards WHERE flow = ?`, `DELETE FROM units WHERE flow = ?`, `DELETE FROM flows WHERE id = ?`} {
		if _, err := tx.exec(statement, flow); err != nil {
			return err
		}
	}
	return nil
}

// noTable reports whether there has never been a flow here.
func noTable(err error) bool { return err != nil && strings.Contains(err.Error(), "no such table") }

// Depth implements store.Queue. It is never stale.
func (s *queues) Depth(ctx context.Context, flow string, shards ...store.Shard) ([]store.Depth, error) {
	d, err := s.depth(ctx, flow, shards)
	return d, s.wrap(err, "depth of flow %q", flow)
}

func (s *queues) depth(ctx context.Context, flow string, shards []store.Shard) ([]store.Depth, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.inside.Done()
	all, err := s.allDepths(ctx, flow)
	switch {
	case noTable(err):
		return nil, store.ErrNotFound
	case err != nil:
		return nil, readError(ctx, err)
	case len(all) == 0:
		return nil, store.ErrNotFound
	case len(shards) == 0:
		return all, nil
	}
	out := make([]store.Depth, 0, len(shards))
	for _, shard := range shards {
		i := slices.IndexFunc(all, func(d store.Depth) bool { return d.Shard == shard })
		if i < 0 {
			return nil, fmt.Errorf("shard %d of %s: %w", shard.Number, shard.Edge, store.ErrNotFound)
		}
		out = append(out, all[i])
	}
	return out, nil
}

func (s *queues) allDepths(ctx context.Context, flow string) ([]store.Depth, error) {
	rows, err := s.reads.QueryContext(ctx, `SELECT edge, number, stored, stored - acked, sealed, segments, segments - acked_segments
		FROM shards WHERE flow = (SELECT id FROM flows WHERE name = ?) ORDER BY place`, flow)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []store.Depth
	for rows.Next() {
		var d store.Depth
		if err := rows.Scan(&d.Shard.Edge, &d.Shard.Number, &d.Stored, &d.Pending, &d.Sealed, &d.Segments, &d.PendingSegments); err != nil {
			return nil, err
		}
		all = append(all, d)
	}
	return all, rows.Err()
}
