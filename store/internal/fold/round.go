package fold

import (
	"context"
	"fmt"

	"github.com/rota-run/rota/store"
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
