package fold

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/engine/log"
	inner "github.com/rota-run/rota/store/internal/driver"
)

// pageSize is how many records one read asks for.
const pageSize = 2000

// catchUp returns when all that was in the journal when it was called is applied. Who waits while another one reads is
// served by the first reading that begins later.
func (s *Rows) catchUp(ctx context.Context, confirm bool) error {
	asked := s.asked()
	select {
	case s.reading <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-s.reading }()
	if s.served(asked, confirm) {
		return nil
	}
	number := s.begin()
	if err := s.read(ctx, confirm); err != nil {
		return inner.Because(ctx, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done = number
	if confirm {
		s.marked = number
	}
	return nil
}

func (s *Rows) asked() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.begun
}

// served reports whether a reading that began after an earlier one has come to the end.
func (s *Rows) served(asked uint64, confirm bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if confirm {
		return s.marked > asked
	}
	return s.done > asked
}

func (s *Rows) begin() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begun++
	return s.begun
}

func (s *Rows) hasBegun() bool { return s.served(0, false) }

// read reads to the end of the journal.
func (s *Rows) read(ctx context.Context, confirm bool) error {
	if confirm {
		if err := s.mark(ctx); err != nil {
			return err
		}
	}
	for {
		after := s.applied()
		records, first, head, err := s.journal.Read(ctx, after, pageSize)
		switch {
		case err != nil:
			return err
		case first > 0 && after < first-1:
			if err := s.load(ctx, first-1); err != nil {
				return err
			}
			continue
		}
		s.fold(records)
		if at := s.applied(); at >= head {
			return nil
		} else if len(records) == 0 {
			return fmt.Errorf("%w: the journal ends at %d, and gives nothing behind %d", store.ErrUnavailable, head, at)
		}
	}
}

// mark appends a mark. That its outcome is unknown is not the caller's concern: it changes nothing.
func (s *Rows) mark(ctx context.Context) error {
	_, err := s.journal.Append(ctx, [][]byte{op{kind: kindMark, name: s.newName()}.encode()})
	return inner.NotDone(err)
}

func (s *Rows) applied() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.applied
}

// follow applies an operation of this handle if it stands directly behind what was read.
func (s *Rows) follow(r store.Record) bool {
	select {
	case s.reading <- struct{}{}:
	default:
		return false // somebody reads
	}
	defer func() { <-s.reading }()
	if s.applied()+1 != r.Index {
		return false
	}
	s.fold([]store.Record{r})
	return true
}

// fold applies records, tells those who wait what was decided, and gives hints.
func (s *Rows) fold(records []store.Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range records {
		before := s.state.applied
		o, out := s.state.apply(r)
		if decided, ok := s.waits[o.name]; ok {
			decided <- out
			delete(s.waits, o.name)
			every := uint64(s.o.SaveEvery) //nolint:gosec // positive
			s.due = s.due || before/every != r.Index/every && o.key != s.log.PointerKey()
		}
		if out.hints {
			s.hint(o.key)
		}
	}
	if s.due && !s.saving {
		s.startSave()
	}
}

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
