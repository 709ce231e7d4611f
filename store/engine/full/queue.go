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
	"github.com/rota-run/rota/store/internal/logqueue"
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
	return call(ctx, s, !r.Peek, func(ctx context.Context) ([]store.Message, error) {
		return s.queues.Receive(ctx, flow, r)
	})
}

// Commit implements store.Queue.
func (s *Bare) Commit(ctx context.Context, flow string, units ...store.Unit) ([]bool, error) {
	return call(ctx, s, changes,
		func(ctx context.Context) ([]bool, error) { return s.queues.Commit(ctx, flow, units...) })
}

// Depth implements store.Queue.
func (s *Bare) Depth(ctx context.Context, flow string, shards ...store.Shard) ([]store.Depth, error) {
	return call(ctx, s, looks,
		func(ctx context.Context) ([]store.Depth, error) { return s.queues.Depth(ctx, flow, shards...) })
}

// journals are the logs of flows, each with a name of its own, and rows for data that are not few. The handle has asked
// whether a call may begin.
type journals struct{ rows *engine.Rows }

// OpenJournal implements logqueue.Journals. A log in rows that was never used is empty, and so there is no flow.
func (j *journals) OpenJournal(ctx context.Context, flow string, create bool) (logqueue.Journal, error) {
	var order driver.Journal
	if d, ok := j.rows.Driver.(driver.NamedJournals); ok {
		var err error
		if order, err = d.OpenJournal(ctx, flowName(flow), create); err != nil {
			return nil, err
		}
	}
	l := log.On(j.rows, flowName(flow), order)
	if values, ok := order.(driver.JournalValues); ok {
		return &valueJournal{l, values}, nil
	}
	return &flowJournal{Log: l, rows: j.rows, prefix: dataPrefix(flow)}, nil
}

// DropJournal implements logqueue.Journals. Of a log in rows its head is left, and a snapshot, which says that it was
// dropped.
func (j *journals) DropJournal(ctx context.Context, flow string) error {
	if d, ok := j.rows.Driver.(driver.NamedJournals); ok {
		if err := d.DropJournal(ctx, flowName(flow)); err != nil {
			return err
		}
		if err := log.On(j.rows, flowName(flow), nil).Forget(ctx); err != nil {
			return err
		}
	}
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

// Removes implements logqueue.Journals.
func (j *journals) Removes() bool {
	_, ok := j.rows.Driver.(driver.NamedJournals)
	return ok && !j.rows.Limits().Lingers
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

// Append implements logqueue.Journal.
func (f *flowJournal) Append(ctx context.Context, a logqueue.Append) (index uint64, record []byte, err error) {
	at, rows := make([]string, len(a.Data)), make([]driver.Op, len(a.Data))
	for i, d := range a.Data {
		if most := f.MaxRecord(); len(d) > most {
			return 0, nil, fmt.Errorf("%d bytes, at most %d: %w", len(d), most, store.ErrTooLarge)
		}
		at[i] = f.rows.NewName()
		rows[i] = driver.Op{Key: f.prefix + at[i], Name: at[i], Value: d, Once: true}
	}
	record = a.Record(at)
	index, err = f.AppendWith(ctx, record, a.Light, rows)
	return index, record, err
}

// Get implements logqueue.Journal. What is there is what was put, so it may be read from anywhere.
func (f *flowJournal) Get(ctx context.Context, at ...string) ([][]byte, error) {
	out := make([][]byte, len(at))
	for _, stale := range []bool{true, false} {
		q, missing := driver.Query{Stale: stale}, []int(nil)
		for i, place := range at {
			if out[i] == nil {
				q.Keys, missing = append(q.Keys, f.prefix+place), append(missing, i)
			}
		}
		if len(missing) == 0 {
			break
		}
		rows, err := f.rows.Read(ctx, q)
		if err != nil {
			return nil, err
		}
		for k, row := range rows.Keys {
			if row.Version != "" {
				out[missing[k]] = row.Value
			}
		}
	}
	return out, nil
}

// Free implements logqueue.Keeper. A driver may remove all between the first and the last key, so each is alone.
func (f *flowJournal) Free(ctx context.Context, at ...string) error {
	return engine.Together(len(at), func(i int) error { return f.rows.Free(ctx, []string{f.prefix + at[i]}) })
}

// valueJournal is the log of one flow that keeps data as values of its journal, until the flow is dropped: their order
// is that in which they were put, and not in which they are read.
type valueJournal struct {
	*log.Log
	values driver.JournalValues
}

// Append implements logqueue.Journal.
func (f *valueJournal) Append(ctx context.Context, a logqueue.Append) (index uint64, record []byte, err error) {
	var at []string
	if len(a.Data) > 0 {
		if at, err = f.values.PutValues(ctx, a.Data); err != nil {
			return 0, nil, err
		}
	}
	record = a.Record(at)
	index, err = f.Log.Append(ctx, record)
	return index, record, err
}

// Get implements logqueue.Journal.
func (f *valueJournal) Get(ctx context.Context, at ...string) ([][]byte, error) {
	return f.values.Values(ctx, at)
}
