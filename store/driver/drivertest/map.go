package drivertest

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/driver"
)

// Map is a store in memory: rows, a counter that gives versions, and those who wait for hints.
type Map struct {
	mu     sync.Mutex
	rows   map[string]driver.Row
	logs   logs
	vigils vigils
	writes uint64
	hints  map[*func()]string // of those who watch, with their prefixes
}

// NewMap makes an empty store.
func NewMap() *Map {
	return &Map{
		rows: map[string]driver.Row{}, logs: logs{now: journal{first: 1}}, hints: map[*func()]string{},
		vigils: vigils{all: map[string]*vigil{}},
	}
}

// Handle is a handle on a Map.
type Handle struct {
	m   *Map
	ctx context.Context // ends with the handle
	end context.CancelCauseFunc
}

// Open opens a handle.
func (m *Map) Open() *Handle {
	ctx, end := context.WithCancelCause(context.Background())
	return &Handle{m, ctx, end}
}

// Limits implements driver.Driver.
func (h *Handle) Limits() driver.Limits {
	return driver.Limits{Value: 1 << 20, Swap: 2 << 20, With: 16, Keys: 1000, Deletes: true}
}

// Close implements driver.Driver.
func (h *Handle) Close() error {
	h.end(store.ErrClosed)
	return nil
}

// do runs a call alone, unless the handle or ctx has ended.
func (h *Handle) do(ctx context.Context, call func() error) error {
	if err := cmp.Or(context.Cause(h.ctx), context.Cause(ctx)); err != nil {
		return err
	}
	h.m.mu.Lock()
	defer h.m.mu.Unlock()
	return call()
}

// Read implements driver.Documents.
func (h *Handle) Read(ctx context.Context, q driver.Query) (rows driver.Rows, err error) {
	err = h.do(ctx, func() error {
		for _, key := range slices.Sorted(maps.Keys(h.m.rows)) {
			if q.From == "" || key < q.From || key >= q.To {
				continue
			}
			if rows.More = len(rows.Range) == q.Limit; rows.More {
				break
			}
			rows.Range = append(rows.Range, h.m.row(key))
		}
		for _, key := range q.Keys {
			rows.Keys = append(rows.Keys, h.m.row(key))
		}
		return nil
	})
	return rows, err
}

func (m *Map) row(key string) driver.Row {
	row := m.rows[key]
	row.Key, row.Value = key, bytes.Clone(row.Value)
	return row
}

// Swap implements driver.Documents.
func (h *Handle) Swap(ctx context.Context, op driver.Op, with ...driver.Op) (v driver.Version, err error) {
	err = h.do(ctx, func() error {
		all, size := append([]driver.Op{op}, with...), 0
		for _, o := range all {
			size += len(o.Key) + len(o.Value)
			if most := h.Limits(); len(o.Value) > most.Value || size > most.Swap || len(with) > most.With {
				return fmt.Errorf("%q: %w", o.Key, store.ErrTooLarge)
			}
		}
		if row := h.m.row(op.Key); row.Version != op.If {
			return &driver.Conflict{Row: &row}
		}
		for _, o := range all {
			h.m.write(o)
		}
		v = h.m.rows[op.Key].Version
		return nil
	})
	return v, err
}

// write gives each write the next version, so that none comes back.
func (m *Map) write(o driver.Op) {
	m.writes++
	delete(m.rows, o.Key)
	if !o.Delete {
		v := driver.Version(fmt.Sprint(m.writes))
		m.rows[o.Key] = driver.Row{Key: o.Key, Name: o.Name, Value: bytes.Clone(o.Value), Version: v}
	}
	if !o.Beat {
		m.tell(o.Key)
	}
}

// Free implements driver.Documents.
func (h *Handle) Free(ctx context.Context, keys []string) error {
	return h.do(ctx, func() error {
		maps.DeleteFunc(h.m.rows, func(key string, _ driver.Row) bool { return slices.Contains(keys, key) })
		return nil
	})
}

// Watch implements driver.Documents.
func (h *Handle) Watch(ctx context.Context, prefix string, hint func()) error {
	if err := h.do(ctx, func() error { h.m.hints[&hint] = prefix; return nil }); err != nil {
		return err
	}
	hint()
	select {
	case <-ctx.Done():
	case <-h.ctx.Done():
	}
	h.m.mu.Lock()
	defer h.m.mu.Unlock()
	delete(h.m.hints, &hint)
	return cmp.Or(context.Cause(h.ctx), context.Cause(ctx))
}
