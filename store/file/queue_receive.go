package file

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/rota-run/rota/store"
)

// deliverable is when a message may be delivered: nobody has it, or its lease is over. A lease that begins in the future is one from before the
// clock was set back. The clock is the machine's, as all who use the directory run on it; a wrong one costs a delivery too many, which commits bear.
const deliverable = `m.id > ?1 AND m.id < ?2 AND NOT EXISTS (SELECT 1 FROM leases l WHERE l.id = m.id AND l.since <= ?3 AND l.until > ?3)`

// Receive implements store.Queue.
func (s *queues) Receive(ctx context.Context, flow string, r store.Receive) ([]store.Message, error) {
	m, err := s.receive(ctx, flow, r)
	return m, s.wrap(err, "receive from shard %d of %s in flow %q", r.Shard.Number, r.Shard.Edge, flow)
}

func (s *queues) receive(ctx context.Context, flow string, r store.Receive) ([]store.Message, error) {
	if err := store.CheckReceive(r); err != nil {
		return nil, err
	}
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.inside.Done()
	shard, err := s.shardID(ctx, flow, r.Shard)
	if err != nil {
		return nil, err
	}
	if r.Peek {
		return s.messages(ctx, r.Shard, nil, `SELECT id, segments, sum, data FROM messages WHERE id > ? AND id < ? ORDER BY id LIMIT ?`,
			messageID(shard, r.After), messageID(shard+1, 0), r.Limit)
	}
	if len(r.Keep)+len(r.Return) == 0 {
		if some, err := s.someFree(ctx, shard, r.Limit); err != nil || !some {
			return nil, err
		}
	}
	taken, err := s.lease(ctx, shard, r)
	if err != nil || len(taken) == 0 {
		return nil, err
	}
	return s.takenMessages(ctx, r.Shard, taken)
}

// shardID finds a shard.
func (s *queues) shardID(ctx context.Context, flow string, shard store.Shard) (id int64, err error) {
	err = s.reads.QueryRowContext(ctx, `SELECT id FROM shards WHERE flow = (SELECT id FROM flows WHERE name = ?) AND edge = ? AND number = ?`,
		flow, shard.Edge, shard.Number).Scan(&id)
	switch {
	case errors.Is(err, sql.ErrNoRows), noTable(err):
		return 0, fmt.Errorf("the shard: %w", store.ErrNotFound)
	case err != nil:
		return 0, readError(ctx, err)
	}
	return id, nil
}

// someFree looks, without waiting for a turn to write, whether there is anything to deliver.
func (s *queues) someFree(ctx context.Context, shard int64, limit int) (some bool, err error) {
	if limit == 0 {
		return false, nil
	}
	err = s.reads.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM messages m WHERE `+deliverable+`)`,
		messageID(shard, 0), messageID(shard+1, 0), time.Now().UnixMilli()).Scan(&some)
	if err != nil {
		return false, readError(ctx, err)
	}
	return some, nil
}

// lease changes leases as a request says and returns the deliveries, by message.
func (s *queues) lease(ctx context.Context, shard int64, r store.Receive) (map[int64]int, error) {
	var taken map[int64]int
	keep, back := leasesOf(shard, r.Keep), leasesOf(shard, r.Return)
	o := newOp(64*(r.Limit+len(keep)+len(back)), func(tx *tx) error {
		now := time.Now().UnixMilli()
		until := now + max(r.Lease.Milliseconds(), 1)
		for _, l := range keep {
			if _, err := tx.exec(`UPDATE leases SET since = ?, until = ? WHERE id = ? AND delivered = ?`, now, until, l.id, l.delivered); err != nil {
				return err
			}
		}
		for _, l := range back {
			if _, err := tx.exec(`UPDATE leases SET until = 0 WHERE id = ? AND delivered = ?`, l.id, l.delivered); err != nil {
				return err
			}
		}
		var err error
		taken, err = tx.lease(shard, now, until, r.Limit)
		return err
	})
	o.light = true
	if err := s.do(ctx, o); err != nil {
		return nil, err // the writer may still be at it
	}
	return taken, nil
}

// lease takes messages.
func (t *tx) lease(shard, now, until int64, limit int) (map[int64]int, error) {
	if limit == 0 {
		return nil, nil
	}
	s, err := t.statements.get(background, `INSERT INTO leases (id, since, until, delivered) SELECT m.id, ?3, ?4, 1 FROM messages m WHERE `+deliverable+ //nolint:sqlclosecheck // see statements
		` ORDER BY m.id LIMIT ?5 ON CONFLICT (id) DO UPDATE SET since = excluded.since, until = excluded.until, delivered = delivered + 1
		RETURNING id, delivered`)
	if err != nil {
		return nil, err
	}
	rows, err := s.QueryContext(background, messageID(shard, 0), messageID(shard+1, 0), now, until, limit)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	taken := make(map[int64]int, limit)
	for rows.Next() {
		var id int64
		var delivered int
		if err := rows.Scan(&id, &delivered); err != nil {
			return nil, err
		}
		taken[id] = delivered
	}
	return taken, rows.Err()
}

// held is a lease that a caller says it has.
type held struct {
	id        int64
	delivered int
}

// leasesOf leaves out what this store cannot have delivered.
func leasesOf(shard int64, messages []store.Message) (out []held) {
	for i := range messages {
		if n, err := strconv.Atoi(messages[i].Receipt); err == nil {
			out = append(out, held{messageID(shard, messages[i].Number), n})
		}
	}
	return out
}

// takenMessages reads what was taken, in order. What was acknowledged meanwhile is not there any more.
func (s *queues) takenMessages(ctx context.Context, shard store.Shard, taken map[int64]int) ([]store.Message, error) {
	ids := make([]int64, 0, len(taken))
	for id := range taken {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	list, err := json.Marshal(ids)
	if err != nil {
		return nil, err
	}
	return s.messages(ctx, shard, taken, `SELECT id, segments, sum, data FROM messages WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id`, string(list))
}

func (s *queues) messages(ctx context.Context, shard store.Shard, taken map[int64]int, query string, args ...any) ([]store.Message, error) {
	rows, err := s.reads.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, readError(ctx, err)
	}
	defer rows.Close()
	var all []store.Message
	for rows.Next() {
		var id, sum int64
		m := store.Message{Shard: shard}
		if err := rows.Scan(&id, &m.Segments, &sum, &m.Data); err != nil {
			return nil, readError(ctx, err)
		}
		if m.Number = numberOf(id); recordSum(m.Number, m.Data) != sum {
			return nil, fmt.Errorf("message %d: wrong checksum: %w", m.Number, ErrDamaged)
		}
		if m.Delivered = taken[id]; m.Delivered > 0 {
			m.Receipt = strconv.Itoa(m.Delivered)
		}
		all = append(all, m)
	}
	if err := rows.Err(); err != nil {
		return nil, readError(ctx, err)
	}
	return all, nil
}
