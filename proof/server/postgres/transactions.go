package postgres

import (
	"context"
	"fmt"
	"strconv"
)

// Transactions returns how many transactions clients have made in the database since the server began to count. Each statement of a store is one. The server
// counts those of a connection that works without pause up to a second late.
func (s *Server) Transactions(ctx context.Context) (uint64, error) {
	column, err := s.SQLIn(ctx, "postgres", "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = '"+User+"'")
	if err != nil {
		return 0, err
	}
	if len(column) != 1 {
		return 0, fmt.Errorf("count transactions: the server has %d databases %q", len(column), User)
	}
	return strconv.ParseUint(column[0], 10, 64)
}
