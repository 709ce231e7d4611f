package memory

import (
	"context"
	"fmt"
	"strconv"
	"sync"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/internal/driver"
	"github.com/rota-run/rota/store/logqueue"
)

var _ store.Queue = (*Store)(nil)

// MakeFlow implements store.Queue.
func (h *Store) MakeFlow(ctx context.Context, flow string, shards []store.Shard) error {
	if err := h.look(ctx); err != nil {
		return fmt.Errorf("make flow %q: %w", flow, err)
	}
	return h.server.queues.MakeFlow(ctx, flow, shards)
}

// DropFlow implements store.Queue.
func (h *Store) DropFlow(ctx context.Context, flow string) error {
	if err := h.look(ctx); err != nil {
		return fmt.Errorf("drop flow %q: %w", flow, err)
	}
	return h.server.queues.DropFlow(ctx, flow)
}

// Receive implements store.Queue.
func (h *Store) Receive(ctx context.Context, flow string, r store.Receive) ([]store.Message, error) {
	if err := h.look(ctx); err != nil {
		return nil, fmt.Errorf("receive from flow %q: %w", flow, err)
	}
	return h.server.queues.Receive(ctx, flow, r)
}

// Commit implements store.Queue. All units of a call are one step.
func (h *Store) Commit(ctx context.Context, flow string, units ...store.Unit) ([]bool, error) {
	if err := h.look(ctx); err != nil {
		return nil, fmt.Errorf("commit to flow %q: %w", flow, err)
	}
	return h.server.queues.Commit(ctx, flow, units...)
}

// Depth implements store.Queue. It is never stale.
func (h *Store) Depth(ctx context.Context, flow string, shards ...store.Shard) ([]store.Depth, error) {
	if err := h.look(ctx); err != nil {
		return nil, fmt.Errorf("depth of flow %q: %w", flow, err)
	}
	return h.server.queues.Depth(ctx, flow, shards...)
}

// look says why a call must not begin, nil if it may.
func (h *Store) look(ctx context.Context) error {
	if err := h.enter(ctx); err != nil {
		return err
	}
	h.server.mu.Unlock()
	return nil
}

// journals are the logs of the flows of a server, all of whose handles share one reader of them.
type journals struct {
	mu    sync.Mutex
	flows map[string]*flowLog
}

// Enter implements logqueue.Journals.
func (*journals) Enter(ctx context.Context, _ bool) error { return context.Cause(ctx) }

// OpenJournal implements logqueue.Journals.
func (j *journals) OpenJournal(_ context.Context, flow string, create bool) (logqueue.Journal, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	f := j.flows[flow]
	switch {
	case f != nil:
		return f, nil
	case !create:
		return nil, fmt.Errorf("the flow: %w", store.ErrNotFound)
	}
	f = &flowLog{data: make(map[string][]byte)}
	j.flows[flow] = f
	return f, nil
}

// DropJournal implements logqueue.Journals.
func (j *journals) DropJournal(_ context.Context, flow string) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	delete(j.flows, flow)
	return nil
}

// Removes implements logqueue.Journals.
func (*journals) Removes() bool { return false }

// flowLog is the log of a flow. Its reader needs no snapshot: it has read what is trimmed.
type flowLog struct {
	mu      sync.Mutex
	records []store.Record
	head    uint64
	data    map[string][]byte
	places  int
}

var _ logqueue.Keeper = (*flowLog)(nil)

// MaxRecord implements logqueue.Journal.
func (*flowLog) MaxRecord() int { return MaxRecord }

// Append implements logqueue.Journal.
func (f *flowLog) Append(_ context.Context, a logqueue.Append) (index uint64, record []byte, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	at := make([]string, len(a.Data))
	for i, d := range a.Data {
		if err := driver.CheckSize(d, MaxRecord); err != nil {
			return 0, nil, err
		}
		f.places++
		at[i] = strconv.Itoa(f.places)
		f.data[at[i]] = d // nobody changes a bundle
	}
	f.head++
	record = a.Record(at)
	f.records = append(f.records, store.Record{Index: f.head, Data: record})
	return f.head, record, nil
}

// Read implements logqueue.Journal.
func (f *flowLog) Read(_ context.Context, after uint64, limit int) (store.Page, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	p := store.Page{Head: f.head}
	from := len(f.records) - int(f.head-after) //nolint:gosec // a few
	p.Records = append(p.Records, f.records[from:min(from+limit, len(f.records))]...)
	return p, nil
}

// Get implements logqueue.Journal.
func (f *flowLog) Get(_ context.Context, at ...string) ([][]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := make([][]byte, len(at))
	for i, place := range at {
		out[i] = f.data[place]
	}
	return out, nil
}

// Snapshot implements logqueue.Keeper.
func (*flowLog) Snapshot(context.Context) (store.Record, error) {
	return store.Record{}, store.ErrNotFound
}

// SaveSnapshot implements logqueue.Keeper.
func (*flowLog) SaveSnapshot(context.Context, store.Record) error { return nil }

// Trim implements logqueue.Keeper.
func (f *flowLog) Trim(_ context.Context, index uint64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for len(f.records) > 0 && f.records[0].Index <= index {
		f.records = f.records[1:]
	}
	return nil
}

// Free implements logqueue.Keeper.
func (f *flowLog) Free(_ context.Context, at ...string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, place := range at {
		delete(f.data, place)
	}
	return nil
}
