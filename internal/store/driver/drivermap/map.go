package drivermap

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/rota-run/rota/internal/ordered"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/driver"
)

// Map is a store: rows, a counter that gives versions, and those who wait for hints. The zero value is not usable; see
// [New].
type Map struct {
	Most driver.Limits // of all handles; to be changed before there is one
	Gaps bool          // indexes of logs are not dense

	mu     sync.Mutex
	rows   ordered.Map[string, driver.Row]
	writes uint64
	hints  map[*func()]string // of those who watch, with their prefixes
	logs   logs
	vigils vigils
}

// New makes an empty store.
func New() *Map {
	most := driver.Limits{Value: 1 << 20, Swap: 2 << 20, With: 16, Keys: 1000, Batch: 16}
	return &Map{Most: most, hints: map[*func()]string{}, logs: newLogs(), vigils: vigils{open: map[string]*vigil{}}}
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
func (h *Handle) Limits() driver.Limits { return h.m.Most }

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
		if q.From != "" {
			ordered.From(&h.m.rows, q.From, func(key string, _ driver.Row) bool {
				if rows.More = key < q.To && len(rows.Range) == q.Limit; key >= q.To || rows.More {
					return false
				}
				rows.Range = append(rows.Range, h.m.row(key))
				return true
			})
		}
		for _, key := range q.Keys {
			rows.Keys = append(rows.Keys, h.m.row(key))
		}
		return nil
	})
	return rows, err
}

func (m *Map) row(key string) driver.Row {
	row, _ := ordered.Get(&m.rows, key)
	row.Key, row.Value = key, bytes.Clone(row.Value)
	return row
}

// Swap implements driver.Documents.
func (h *Handle) Swap(ctx context.Context, op driver.Op, with ...driver.Op) (v driver.Version, err error) {
	err = h.do(ctx, func() error { v, err = h.m.swap(op, with); return err })
	return v, err
}

func (m *Map) swap(op driver.Op, with []driver.Op) (driver.Version, error) {
	size := 0
	for _, o := range append([]driver.Op{op}, with...) {
		size += len(o.Key) + len(o.Value)
		if len(o.Value) > m.Most.Value || size > m.Most.Swap || len(with) > m.Most.With {
			return "", fmt.Errorf("%q: %w", o.Key, store.ErrTooLarge)
		}
	}
	if now, _ := ordered.Get(&m.rows, op.Key); now.Version != op.If {
		now = m.row(op.Key)
		return "", &driver.Conflict{Row: &now}
	}
	for _, o := range with {
		m.write(o)
	}
	return m.write(op), nil
}

// write gives each write the next version, so that none comes back.
func (m *Map) write(o driver.Op) (v driver.Version) {
	m.writes++
	if o.Delete {
		ordered.Remove(&m.rows, o.Key)
	} else {
		v = driver.Version(strconv.FormatUint(m.writes, 36))
		ordered.Set(&m.rows, o.Key, driver.Row{Key: o.Key, Name: o.Name, Value: bytes.Clone(o.Value), Version: v})
	}
	if !o.Beat {
		m.tell(o.Key)
	}
	return v
}

// Free implements driver.Documents.
func (h *Handle) Free(ctx context.Context, keys []string) error {
	return h.do(ctx, func() error {
		for _, key := range keys {
			ordered.Remove(&h.m.rows, key)
		}
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

// tell hints that a key has changed.
func (m *Map) tell(key string) {
	for hint, prefix := range m.hints { // order-free: each gets its own hint
		if strings.HasPrefix(key, prefix) {
			(*hint)()
		}
	}
}
