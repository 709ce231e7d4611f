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
