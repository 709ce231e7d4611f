package file

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/internal/driver"
)

// Commit implements store.Queue. All units of a call are one transaction.
func (s *queues) Commit(ctx context.Context, flow string, units ...store.Unit) ([]bool, error) {
	fresh, err := s.commitUnits(ctx, flow, units)
	return fresh, s.wrap(err, "commit to flow %q", flow)
}

func (s *queues) commitUnits(ctx context.Context, flow string, units []store.Unit) ([]bool, error) {
	size := 0
	for _, u := range units {
		if err := store.CheckUnit(u); err != nil {
			return nil, err
		}
		for i := range u.Outputs {
			if err := driver.CheckSize(u.Outputs[i].Data, MaxRecord); err != nil {
				return nil, err
			}
			size += len(u.Outputs[i].Data)
		}
	}
	// The caller may change its bytes when this returns, which may be before the transaction ends.
	c := &commitment{flow: flow, units: cloneUnits(units), fresh: make([]bool, len(units)), shards: make(map[store.Shard]*shardRow)}
	if err := s.change(ctx, size, c.run); err != nil {
		return nil, err
	}
	return c.fresh, nil
}

func cloneUnits(units []store.Unit) []store.Unit {
	out := slices.Clone(units)
	for i := range out {
		out[i].Inputs = slices.Clone(out[i].Inputs)
		out[i].Outputs = slices.Clone(out[i].Outputs)
		for k := range out[i].Outputs {
			out[i].Outputs[k].Data = append([]byte{}, out[i].Outputs[k].Data...)
		}
	}
	return out
}

// commitment is one call of Commit inside a transaction.
type commitment struct {
	tx     *tx
	flow   string
	id     int64 // of the flow
	units  []store.Unit
	fresh  []bool
	shards map[store.Shard]*shardRow
	order  []*shardRow // as they were met
}

// shardRow is the counters of a shard, as they will be.
type shardRow struct {
	id                      int64
	stored, segments        uint64
	acked, ackedSegments    uint64
	sealed, sealing, change bool
}

func (c *commitment) run(tx *tx) error {
	c.tx = tx
	err := tx.row(`SELECT id FROM flows WHERE name = ?`, []any{c.flow}, []any{&c.id})
	if errors.Is(err, sql.ErrNoRows) || noTable(err) {
		return refuse(store.ErrNotFound)
	}
	if err != nil {
		return err
	}
	for _, u := range c.units {
		if err := c.check(u); err != nil {
			return err
		}
	}
	for i, u := range c.units {
		if c.fresh[i], err = c.acknowledge(u); err != nil {
			return err
		}
		if !c.fresh[i] {
			continue
		}
		for k := range u.Outputs {
			if err := c.put(&u.Outputs[k]); err != nil {
				return err
			}
		}
	}
	return c.count()
}

// check refuses a unit that cannot be made a fact, before anything is changed.
func (c *commitment) check(u store.Unit) error {
	for i := range u.Inputs {
		if _, err := c.shard(u.Inputs[i].Shard); err != nil {
			return err
		}
	}
	for i := range u.Outputs {
		row, err := c.shard(u.Outputs[i].Shard)
		if err != nil {
			return err
		}
		row.sealing = row.sealing || u.Outputs[i].Seal
		if !row.sealed && !row.sealing || u.Outputs[i].Seal {
			continue
		}
		known, err := c.known(u)
		if err != nil {
			return err
		}
		if !known {
			return refuse(fmt.Errorf("shard %d of %s: %w", u.Outputs[i].Shard.Number, u.Outputs[i].Shard.Edge, store.ErrSealed))
		}
	}
	return nil
}

func (c *commitment) shard(s store.Shard) (*shardRow, error) {
	if row, ok := c.shards[s]; ok {
		return row, nil
	}
	row := &shardRow{}
	err := c.tx.row(`SELECT id, stored, segments, acked, acked_segments, sealed FROM shards WHERE flow = ? AND edge = ? AND number = ?`,
		[]any{c.id, s.Edge, s.Number}, []any{&row.id, &row.stored, &row.segments, &row.acked, &row.ackedSegments, &row.sealed})
	if errors.Is(err, sql.ErrNoRows) {
		return nil, refuse(fmt.Errorf("shard %d of %s: %w", s.Number, s.Edge, store.ErrNotFound))
	}
	if err != nil {
		return nil, err
	}
	c.shards[s] = row
	c.order = append(c.order, row)
	return row, nil
}

// known reports whether a unit is a fact already.
func (c *commitment) known(u store.Unit) (bool, error) {
	var n int
	if u.Name != "" {
		err := c.tx.row(`SELECT count(*) FROM units WHERE flow = ? AND name = ?`, []any{c.id, u.Name}, []any{&n})
		return n > 0, err
	}
	first := &u.Inputs[0]
	err := c.tx.row(`SELECT count(*) FROM messages WHERE id = ?`, []any{messageID(c.shards[first.Shard].id, first.Number)}, []any{&n})
	return n == 0, err
}

// acknowledge takes away the inputs of a unit; it is not fresh if the first is gone.
func (c *commitment) acknowledge(u store.Unit) (fresh bool, err error) {
	if u.Name != "" {
		n, err := c.tx.exec(`INSERT INTO units (flow, name) VALUES (?, ?) ON CONFLICT DO NOTHING`, c.id, u.Name)
		return n > 0, err
	}
	for i := range u.Inputs {
		there, err := c.take(&u.Inputs[i])
		if err != nil {
			return false, err
		}
		if i == 0 && !there {
			return false, nil
		}
	}
	return true, nil
}

func (c *commitment) take(m *store.Message) (there bool, err error) {
	row := c.shards[m.Shard]
	id := messageID(row.id, m.Number)
	var segments uint64
	err = c.tx.row(`DELETE FROM messages WHERE id = ? RETURNING segments`, []any{id}, []any{&segments})
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	row.acked++
	row.ackedSegments += segments
	row.change = true
	_, err = c.tx.exec(`DELETE FROM leases WHERE id = ?`, id)
	return true, err
}

func (c *commitment) put(p *store.Put) error {
	row := c.shards[p.Shard]
	row.change = true
	if p.Seal {
		row.sealed = true
		return nil
	}
	row.stored++
	row.segments += uint64(p.Segments) //nolint:gosec // a count
	_, err := c.tx.exec(`INSERT INTO messages (id, segments, sum, data) VALUES (?, ?, ?, ?)`, messageID(row.id, row.stored), p.Segments,
		recordSum(row.stored, p.Data), p.Data)
	return err
}

// count writes the counters of the shards that changed.
func (c *commitment) count() error {
	for _, row := range c.order {
		if !row.change {
			continue
		}
		if _, err := c.tx.exec(`UPDATE shards SET stored = ?, segments = ?, acked = ?, acked_segments = ?, sealed = ? WHERE id = ?`,
			int64(row.stored), int64(row.segments), int64(row.acked), int64(row.ackedSegments), row.sealed, row.id); err != nil { //nolint:gosec // counts
			return err
		}
	}
	return nil
}
