package fold

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/engine/log"
)

// startSave saves the rows as they are. s.mu is held.
func (s *Rows) startSave() {
	r := store.Record{Index: s.state.applied, Data: s.state.encode()}
	s.due = false
	s.saving = s.life.Begin(func() {
		if err := s.save(r); err != nil && s.life.Ctx.Err() == nil {
			s.o.Logger.Warn("save a snapshot of the rows", "index", r.Index, "err", err)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.saving = false; s.due {
			s.startSave()
		}
	})
}

// save saves a snapshot, and trims what no handle needs that is not far behind.
func (s *Rows) save(r store.Record) error {
	ctx, leave, err := s.enter(s.life.Ctx)
	if err != nil {
		return err
	}
	defer leave()
	err = s.log.SaveSnapshot(ctx, r)
	if kept := uint64(s.o.SaveEvery); err == nil && r.Index > kept { //nolint:gosec // positive
		err = s.log.Trim(ctx, r.Index-kept)
	}
	return err
}

// load takes the newest snapshot behind an index up to which the journal was freed. If its values were freed since it
// was found, a newer pointer says so.
func (s *Rows) load(ctx context.Context, freed uint64) error {
	for newest := []byte(nil); ; {
		pointers, err := s.pointers(ctx, freed)
		if err != nil {
			return err
		}
		if n := len(pointers); n == 0 || bytes.Equal(newest, pointers[n-1]) {
			return fmt.Errorf("records up to %d are gone, and no snapshot has them: %w", freed, log.ErrDamaged)
		}
		newest = pointers[len(pointers)-1]
		for _, p := range slices.Backward(pointers) {
			if taken, err := s.take(ctx, p, freed); taken || err != nil {
				return err
			}
		}
	}
}

// take takes a snapshot, if it is there and behind an index.
func (s *Rows) take(ctx context.Context, pointer []byte, freed uint64) (bool, error) {
	r, err := s.log.Named(ctx, pointer)
	if errors.Is(err, store.ErrNotFound) || err == nil && r.Index < freed {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	loaded, err := decodeState(r)
	if err != nil {
		return false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	loaded.skipped = s.state.skipped
	s.state = loaded
	s.hint("")
	return true, nil
}

// pointers are those to snapshots in the journal behind an index, in their order.
func (s *Rows) pointers(ctx context.Context, after uint64) (all [][]byte, err error) {
	for {
		records, first, head, err := s.journal.Read(ctx, after, pageSize)
		switch {
		case err != nil:
			return nil, err
		case first > 0 && after < first-1:
			after = first - 1
			continue
		}
		for _, r := range records {
			if o, ok := decodeOp(r.Data); ok && o.kind == kindPut && o.key == s.log.PointerKey() {
				all = append(all, o.value)
			}
			after = r.Index
		}
		if len(records) == 0 || after >= head {
			return all, nil
		}
	}
}
