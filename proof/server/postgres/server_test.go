package postgres_test

import (
	"context"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	server "github.com/rota-run/rota/proof/server/postgres"
)

// TestKilledAndBack: what was committed is there after kill -9, on the same port.
func TestKilledAndBack(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	s, err := server.Start(ctx, server.Options{NoSync: true})
	server.Require(t, err)
	t.Cleanup(s.Stop)
	addr := s.Addr()
	if _, err := s.SQL(ctx, "CREATE TABLE t (a int); INSERT INTO t VALUES (1)"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.Kill(); err != nil {
			t.Skipf("NOT TESTED: %v", err)
		}
		if _, err := s.SQL(ctx, "SELECT 1"); err == nil {
			t.Error("a killed server answers")
		}
		must.Succeed(t, s.Restart(ctx))
	}
	if got, err := s.SQL(ctx, "SELECT a FROM t"); err != nil || len(got) != 1 || got[0] != "1" || s.Addr() != addr {
		t.Errorf("after kill -9: %v, %v at %s; want 1 at %s", got, err, s.Addr(), addr)
	}
	if n, err := s.Transactions(ctx); err != nil || n == 0 {
		t.Errorf("%d transactions were counted, %v", n, err)
	}
}
