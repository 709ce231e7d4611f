package file

import (
	"context"
	"database/sql"
	"errors"
	"sync"
)

// asks are the statements that readers use again and again: each text is parsed once for each connection. There are few of them. Its methods may be called
// from any goroutine.
type asks struct {
	db *sql.DB
	mu sync.Mutex
	of map[string]*sql.Stmt
}

// statement prepares each text once. It stays until close.
func (a *asks) statement(ctx context.Context, text string) (*sql.Stmt, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if s, ok := a.of[text]; ok {
		return s, nil
	}
	s, err := a.db.PrepareContext(ctx, text) //nolint:sqlclosecheck // it is kept; close closes it
	if err != nil {
		return nil, err
	}
	if a.of == nil {
		a.of = make(map[string]*sql.Stmt)
	}
	a.of[text] = s
	return s, nil
}

func (a *asks) rows(ctx context.Context, text string, args ...any) (*sql.Rows, error) {
	s, err := a.statement(ctx, text) //nolint:sqlclosecheck // it is kept; close closes it
	if err != nil {
		return nil, err
	}
	return s.QueryContext(ctx, args...)
}

// row reads one row; sql.ErrNoRows if there is none.
func (a *asks) row(ctx context.Context, text string, args, to []any) error {
	s, err := a.statement(ctx, text) //nolint:sqlclosecheck // it is kept; close closes it
	if err != nil {
		return err
	}
	return s.QueryRowContext(ctx, args...).Scan(to...)
}

func (a *asks) close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	var errs []error
	for _, s := range a.of {
		errs = append(errs, s.Close())
	}
	a.of = nil
	return errors.Join(errs...)
}
