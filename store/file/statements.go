package file

import (
	"context"
	"database/sql"
	"errors"
	"sync"
)

// preparer is a database, or one connection to it.
type preparer interface {
	PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
}

// statements are prepared once for each text, and stay until close. There are few texts. Its methods may be called from any goroutine.
type statements struct {
	from preparer
	mu   sync.Mutex
	of   map[string]*sql.Stmt
}

// get prepares a text that it has not met. ctx bounds only that.
func (s *statements) get(ctx context.Context, text string) (*sql.Stmt, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known, ok := s.of[text]; ok {
		return known, nil
	}
	made, err := s.from.PrepareContext(ctx, text) //nolint:sqlclosecheck // it is kept; close closes it
	if err != nil {
		return nil, err
	}
	if s.of == nil {
		s.of = make(map[string]*sql.Stmt)
	}
	s.of[text] = made
	return made, nil
}

func (s *statements) rows(ctx context.Context, text string, args ...any) (*sql.Rows, error) {
	made, err := s.get(ctx, text) //nolint:sqlclosecheck // it is kept; close closes it
	if err != nil {
		return nil, err
	}
	return made.QueryContext(ctx, args...)
}

// row reads one row; sql.ErrNoRows if there is none.
func (s *statements) row(ctx context.Context, text string, args, to []any) error {
	made, err := s.get(ctx, text) //nolint:sqlclosecheck // it is kept; close closes it
	if err != nil {
		return err
	}
	return made.QueryRowContext(ctx, args...).Scan(to...)
}

// close closes them all. One that is left open would keep the database's files open, without an error.
func (s *statements) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, known := range s.of {
		errs = append(errs, known.Close())
	}
	s.of = nil
	return errors.Join(errs...)
}
