package memory

import (
	"context"
	"fmt"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/internal/driver"
)

// log holds records with dense indexes: records[i] has index trimmed+1+i.
type log struct {
	records  [][]byte
	trimmed  uint64
	snapshot store.Record // Index 0 and nil Data: none yet
}

func (l *log) head() uint64 { return l.trimmed + uint64(len(l.records)) }

// Append implements store.Log.
func (h *Store) Append(ctx context.Context, data []byte) (uint64, error) {
	if err := driver.CheckSize(data, MaxRecord); err != nil {
		return 0, fmt.Errorf("append: %w", err)
	}
	if err := h.enter(ctx); err != nil {
		return 0, fmt.Errorf("append: %w", err)
	}
	defer h.server.mu.Unlock()
	l := &h.server.log
	l.records = append(l.records, clone(data))
	h.server.hintLog()
	return l.head(), nil
}

// Read implements store.Log.
func (h *Store) Read(ctx context.Context, after uint64, limit int) (store.Page, error) {
	if limit < 1 {
		return store.Page{}, fmt.Errorf("read log: limit is %d: give at least 1", limit)
	}
	if err := h.enter(ctx); err != nil {
		return store.Page{}, fmt.Errorf("read log after %d: %w", after, err)
	}
	defer h.server.mu.Unlock()
	l := &h.server.log
	if after < l.trimmed {
		return store.Page{}, fmt.Errorf("read log after %d, trimmed up to %d: %w", after, l.trimmed, store.ErrTruncated)
	}
	page := store.Page{Head: l.head()}
	for i := after + 1; i <= page.Head && i > after && len(page.Records) < limit; i++ {
		page.Records = append(page.Records, store.Record{Index: i, Data: clone(l.records[i-l.trimmed-1])})
	}
	return page, nil
}

// Snapshot implements store.Log.
func (h *Store) Snapshot(ctx context.Context) (store.Record, error) {
	if err := h.enter(ctx); err != nil {
		return store.Record{}, fmt.Errorf("read snapshot: %w", err)
	}
	defer h.server.mu.Unlock()
	s := h.server.log.snapshot
	if s.Index == 0 {
		return store.Record{}, fmt.Errorf("read snapshot: %w", store.ErrNotFound)
	}
	return store.Record{Index: s.Index, Data: clone(s.Data)}, nil
}

// SaveSnapshot implements store.Log. A snapshot of an index that the log has not reached is refused.
func (h *Store) SaveSnapshot(ctx context.Context, s store.Record) error {
	if err := driver.CheckSize(s.Data, MaxSnapshot); err != nil {
		return fmt.Errorf("save snapshot at %d: %w", s.Index, err)
	}
	if err := h.enter(ctx); err != nil {
		return fmt.Errorf("save snapshot at %d: %w", s.Index, err)
	}
	defer h.server.mu.Unlock()
	l := &h.server.log
	if s.Index == 0 || s.Index > l.head() {
		return fmt.Errorf("save snapshot at %d: the log has the indexes 1 to %d", s.Index, l.head())
	}
	if s.Index > l.snapshot.Index {
		l.snapshot = store.Record{Index: s.Index, Data: clone(s.Data)}
	}
	return nil
}

// Trim implements store.Log.
func (h *Store) Trim(ctx context.Context, index uint64) error {
	if err := h.enter(ctx); err != nil {
		return fmt.Errorf("trim log to %d: %w", index, err)
	}
	defer h.server.mu.Unlock()
	l := &h.server.log
	index = min(index, l.snapshot.Index)
	if index <= l.trimmed {
		return nil
	}
	l.records = append([][]byte(nil), l.records[index-l.trimmed:]...) // a copy, so that the freed part is really free
	l.trimmed = index
	return nil
}

// SeedLog implements store.Seeder.
func (h *Store) SeedLog(ctx context.Context, index uint64) (err error) {
	defer driver.Wrap(&err, "seed log at %d", index)
	if err := store.CheckSeed(index); err != nil {
		return err
	}
	if err := h.enter(ctx); err != nil {
		return err
	}
	defer h.server.mu.Unlock()
	l := &h.server.log
	if head := l.head(); head != 0 && (head != index || l.trimmed != index) || l.snapshot.Index != 0 {
		return fmt.Errorf("the log ends at %d: %w", head, store.ErrConflict)
	}
	l.trimmed = index
	return nil
}
