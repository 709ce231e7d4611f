package logdocs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rota-run/rota/store"
)

// pageSize is how many records one read asks for.
const pageSize = 2000

// again is how long a reading waits that did not find the mark.
const again = 5 * time.Millisecond

// round is one reading to the end of the log, for all who asked before it began.
type round struct {
	confirm bool
	done    chan struct{}
	err     error // once done is closed
}

// catchUp returns when all that was in the log when it was called is applied. Calls share rounds; one that began before does not count.
func (s *Store) catchUp(ctx context.Context, confirm bool) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	r, ok := s.join(confirm)
	if !ok {
		return store.ErrClosed
	}
	select {
	case <-r.done:
		return r.err
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-s.life.Done():
		return store.ErrClosed
	}
}

func (s *Store) join(confirm bool) (*round, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next == nil {
		s.next = &round{done: make(chan struct{})}
	}
	r := s.next
	r.confirm = r.confirm || confirm
	if !s.running {
		s.running = s.begin(s.rounds)
	}
	return r, s.running
}

// rounds goes through rounds until nobody wants one.
func (s *Store) rounds() {
	for {
		s.mu.Lock()
		r := s.next
		s.next = nil
		if r == nil {
			s.running = false
			s.mu.Unlock()
			return
		}
		s.mu.Unlock()
		r.err = s.read(r.confirm)
		close(r.done)
	}
}

// read reads to the end of the log.
func (s *Store) read(confirm bool) error {
	ctx, cancel := context.WithTimeout(s.life, s.o.Timeout)
	defer cancel()
	if !s.hasBegun() {
		if err := s.load(ctx); err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		s.mu.Lock()
		s.began = true
		s.mu.Unlock()
	}
	least := uint64(0)
	if confirm {
		var err error
		if least, err = s.mark(ctx); err != nil {
			return err
		}
	}
	for {
		after := s.applied()
		page, err := s.log.Read(ctx, after, pageSize)
		if errors.Is(err, store.ErrTruncated) {
			if err := s.load(ctx); err != nil {
				return fmt.Errorf("records after %d are trimmed: %w", after, hidden(err))
			}
			if s.applied() <= after {
				return fmt.Errorf("records after %d are trimmed, and no snapshot has them: %w", after, ErrDamaged)
			}
			continue
		}
		if err != nil {
			return err
		}
		s.fold(page.Records)
		switch at := s.applied(); {
		case at >= least && (at >= page.Head || len(page.Records) == 0):
			return nil
		case len(page.Records) == 0: // the end that was reported is not that of our mark
			select {
			case <-ctx.Done():
				return fmt.Errorf("%w: the log ends at %d, and a mark was appended at %d", store.ErrUnavailable, page.Head, least)
			case <-time.After(again):
			}
		}
	}
}

// hidden is an error without store.ErrNotFound: that there is no snapshot does not mean that there is no document.
func hidden(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("there is no snapshot: %w", ErrDamaged)
	}
	return err
}

// mark appends a mark. That its outcome is unknown is not the caller's concern: it changes nothing.
func (s *Store) mark(ctx context.Context) (uint64, error) {
	s.mu.Lock()
	o := op{kind: kindMark, name: s.newName()}
	s.mu.Unlock()
	index, err := s.log.Append(ctx, o.encode())
	if errors.Is(err, store.ErrUnknown) {
		return 0, fmt.Errorf("%w: the newest record is not confirmed: %v", store.ErrUnavailable, err) //nolint:errorlint // nothing is unknown
	}
	return index, err
}

func (s *Store) hasBegun() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.began
}

func (s *Store) applied() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.applied
}

// load takes the newest snapshot, if it is newer than what is applied.
func (s *Store) load(ctx context.Context) error {
	r, err := s.log.Snapshot(ctx)
	if err != nil {
		return err
	}
	loaded, err := decodeState(r)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if loaded.applied > s.state.applied {
		loaded.skipped = s.state.skipped
		s.state = loaded
		s.hintAll()
	}
	return nil
}

// fold applies records, tells those who wait what was decided, and gives hints.
func (s *Store) fold(records []store.Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	save := false
	for _, r := range records {
		before := s.state.applied
		o, out := s.state.apply(r)
		if decided, ok := s.waits[o.name]; ok {
			decided <- out
			delete(s.waits, o.name)
			every := uint64(s.o.SnapshotEvery)
			save = save || before/every != r.Index/every
		}
		if out.changed {
			s.hint(o.key)
		}
	}
	if s.due = s.due || save; s.due && !s.saving {
		s.startSave()
	}
}

// startSave saves the state as it is. s.mu is held.
func (s *Store) startSave() {
	data, at := s.state.encode(), s.state.applied
	s.due = false
	s.saving = s.begin(func() { s.save(store.Record{Index: at, Data: data}) })
}

// save stores a snapshot and trims what no handle needs that is not far behind.
func (s *Store) save(r store.Record) {
	ctx, cancel := context.WithTimeout(s.life, s.o.Timeout)
	defer cancel()
	err := s.log.SaveSnapshot(ctx, r)
	if kept := uint64(s.o.SnapshotEvery); err == nil && r.Index > kept {
		err = s.log.Trim(ctx, r.Index-kept)
	}
	if err != nil && s.life.Err() == nil {
		s.o.Logger.Warn("save a snapshot of the documents", "index", r.Index, "err", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.saving = false; s.due {
		s.startSave()
	}
}
