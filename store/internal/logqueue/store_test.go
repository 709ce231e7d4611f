package logqueue_test

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/internal/logqueue"
	"github.com/rota-run/rota/store/memory"
	"github.com/rota-run/rota/store/storetest"
)

// shelf is the logs of flows in memory.
type shelf struct {
	mu    sync.Mutex
	flows map[string]*entry
	away  atomic.Bool // neither logs nor data can be read
}

type entry struct {
	log     *memory.Server
	mu      sync.Mutex
	data    [][]byte
	dropped bool
}

// handle is one of several on a shelf.
type handle struct {
	*logqueue.Store
	shelf  *shelf
	mu     sync.Mutex
	closed bool
	logs   []*memory.Store
}

func open(*testing.T) func(t *testing.T) *handle {
	s := &shelf{flows: map[string]*entry{}}
	return func(t *testing.T) *handle {
		h := &handle{shelf: s}
		h.Store = logqueue.New(h)
		t.Cleanup(func() { h.Close() })
		return h
	}
}

func (h *handle) Close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for _, l := range h.logs {
		l.Close()
	}
	h.logs = nil
	return nil
}

func (h *handle) Enter(ctx context.Context, _ bool) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return store.ErrClosed
	}
	return context.Cause(ctx)
}

func (h *handle) OpenJournal(_ context.Context, flow string, create bool) (logqueue.Journal, error) {
	h.shelf.mu.Lock()
	defer h.shelf.mu.Unlock()
	e := h.shelf.flows[flow]
	if e == nil && !create {
		return nil, fmt.Errorf("the flow: %w", store.ErrNotFound)
	}
	if e == nil {
		e = &entry{log: memory.New()}
		h.shelf.flows[flow] = e
	}
	l := e.log.Open()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.logs = append(h.logs, l)
	return &journal{l, e, &h.shelf.away}, nil
}

func (h *handle) DropJournal(_ context.Context, flow string) error {
	h.shelf.mu.Lock()
	defer h.shelf.mu.Unlock()
	if e := h.shelf.flows[flow]; e != nil {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.dropped = true
	}
	delete(h.shelf.flows, flow)
	return nil
}

func (h *handle) Removes() bool { return false }

type journal struct {
	*memory.Store
	*entry
	away *atomic.Bool
}

func (j *journal) there() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.dropped {
		return fmt.Errorf("the log: %w", store.ErrNotFound)
	}
	return nil
}

func (j *journal) MaxRecord() int { return memory.MaxRecord }

func (j *journal) Append(ctx context.Context, a logqueue.Append) (uint64, []byte, error) {
	if err := j.there(); err != nil {
		return 0, nil, err
	}
	record := a.Record(j.put(a.Data))
	index, err := j.Store.Append(ctx, record)
	return index, record, err
}

func (j *journal) Read(ctx context.Context, after uint64, limit int) (store.Page, error) {
	if err := j.there(); err != nil {
		return store.Page{}, err
	}
	if j.away.Load() {
		return store.Page{}, store.ErrUnavailable
	}
	return j.Store.Read(ctx, after, limit)
}

func (j *journal) put(data [][]byte) (at []string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, d := range data {
		j.data = append(j.data, append([]byte{}, d...))
		at = append(at, strconv.Itoa(len(j.data)))
	}
	return at
}

func (j *journal) Get(_ context.Context, at ...string) (out [][]byte, err error) {
	if j.away.Load() {
		return nil, store.ErrUnavailable
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, place := range at {
		n, err := strconv.Atoi(place)
		if err != nil {
			return nil, err
		}
		out = append(out, append([]byte{}, j.data[n-1]...))
	}
	return out, nil
}

func TestQueue(t *testing.T) { t.Parallel(); storetest.Queue(t, open); storetest.QueueJoins(t, open) }
