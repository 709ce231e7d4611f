package full

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/driver"
	"github.com/rota-run/rota/store/engine"
	"github.com/rota-run/rota/store/engine/log"
	"github.com/rota-run/rota/store/logqueue"
)

var _ store.Queue = (*Bare)(nil)

// MakeFlow implements store.Queue.
func (s *Bare) MakeFlow(ctx context.Context, flow string, shards []store.Shard) error {
	return s.change(ctx, func(ctx context.Context) error { return s.queues.MakeFlow(ctx, flow, shards) })
}

// DropFlow implements store.Queue.
func (s *Bare) DropFlow(ctx context.Context, flow string) error {
	return s.change(ctx, func(ctx context.Context) error { return s.queues.DropFlow(ctx, flow) })
}

// Receive implements store.Queue.
func (s *Bare) Receive(ctx context.Context, flow string, r store.Receive) ([]store.Message, error) {
	return call(ctx, s, !r.Peek, func(ctx context.Context) ([]store.Message, error) { return s.queues.Receive(ctx, flow, r) })
}

// Commit implements store.Queue.
func (s *Bare) Commit(ctx context.Context, flow string, units ...store.Unit) ([]bool, error) {
	return call(ctx, s, changes, func(ctx context.Context) ([]bool, error) { return s.queues.Commit(ctx, flow, units...) })
}

// Depth implements store.Queue.
func (s *Bare) Depth(ctx context.Context, flow string, shards ...store.Shard) ([]store.Depth, error) {
	return call(ctx, s, looks, func(ctx context.Context) ([]store.Depth, error) { return s.queues.Depth(ctx, flow, shards...) })
}

// journals are the logs of flows, each with a name of its own, and rows for data that are not few.
type journals struct{ rows *engine.Rows }

// Enter implements logqueue.Journals: the handle has asked already.
func (j *journals) Enter(context.Context, bool) error { return nil }

// OpenJournal implements logqueue.Journals. A log that was never used is empty, and so there is no flow.
func (j *journals) OpenJournal(_ context.Context, flow string, _ bool) (logqueue.Journal, error) {
	return &flowJournal{Log: log.Open(j.rows, flowName(flow)), rows: j.rows, prefix: dataPrefix(flow)}, nil
}

// DropJournal implements logqueue.Journals. What is left is the log's head and a snapshot, which says that it was dropped.
func (j *journals) DropJournal(ctx context.Context, flow string) error {
	q := driver.Query{From: dataPrefix(flow), To: dataPrefix(flow) + "~", Limit: 1000, Bare: true}
	for {
		rows, err := j.rows.Read(ctx, q)
		if err != nil || len(rows.Range) == 0 {
			return err
		}
		keys := make([]string, len(rows.Range))
		for i, row := range rows.Range {
			keys[i] = row.Key
		}
		if err := j.rows.Free(ctx, keys); err != nil || !rows.More {
			return err
		}
		q.From = keys[len(keys)-1] + "\x00"
	}
}

// flowName is the name of a flow's log: the flow's may have any length.
func flowName(flow string) string {
	sum := sha256.Sum256([]byte(flow))
	return "q-" + hex.EncodeToString(sum[:10])
}

func dataPrefix(flow string) string { return "q/" + flowName(flow) + "/" }

// flowJournal is the log of one flow.
type flowJournal struct {
	*log.Log
	rows   *engine.Rows
	prefix string
}

var _ logqueue.Keeper = (*flowJournal)(nil)

// Put implements logqueue.Journal.
func (f *flowJournal) Put(ctx context.Context, data ...[]byte) (at []string, err error) {
	for _, d := range data {
		if most := f.MaxRecord(); len(d) > most {
			return nil, fmt.Errorf("%d bytes, at most %d: %w", len(d), most, store.ErrTooLarge)
		}
		place := f.rows.NewName()
		if err := f.rows.Once(ctx, f.prefix+place, d); err != nil {
			return nil, err
		}
		at = append(at, place)
	}
	return at, nil
}

// Get implements logqueue.Journal.
func (f *flowJournal) Get(ctx context.Context, at ...string) ([][]byte, error) {
	q := driver.Query{Keys: make([]string, len(at))}
	for i, place := range at {
		q.Keys[i] = f.prefix + place
	}
	rows, err := f.rows.Read(ctx, q)
	if err != nil {
		return nil, err
	}
	out := make([][]byte, len(at))
	for i, row := range rows.Keys {
		if row.Version != "" {
			out[i] = row.Value
		}
	}
	return out, nil
}

// Free implements logqueue.Keeper. A driver may remove all between the first and the last key, so each is alone.
func (f *flowJournal) Free(ctx context.Context, at ...string) error {
	for _, place := range at {
		if err := f.rows.Free(ctx, []string{f.prefix + place}); err != nil {
			return err
		}
	}
	return nil
}
