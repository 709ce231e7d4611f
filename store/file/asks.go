package file

import (
	"context"
	"database/sql"
)

// asks are the statements that readers use again and again: each text is parsed once for each connection.
type asks struct{ statements }

func (a *asks) rows(ctx context.Context, text string, args ...any) (*sql.Rows, error) {
	s, err := a.get(ctx, text) //nolint:sqlclosecheck // it is kept; close closes it
	if err != nil {
		return nil, err
	}
	return s.QueryContext(ctx, args...)
}

// row reads one row; sql.ErrNoRows if there is none.
func (a *asks) row(ctx context.Context, text string, args, to []any) error {
	s, err := a.get(ctx, text) //nolint:sqlclosecheck // it is kept; close closes it
	if err != nil {
		return err
	}
	return s.QueryRowContext(ctx, args...).Scan(to...)
}
