package lock_test

import (
	"testing"

	"github.com/rota-run/rota/lock/locktest"
	"github.com/rota-run/rota/store/memory"
)

// The suite runs beside each driver too.
func TestSuite(t *testing.T) {
	t.Parallel()
	locktest.Run(t, func(*testing.T) func(*testing.T) *memory.Store {
		server := memory.New()
		return func(t *testing.T) *memory.Store {
			s := server.Open()
			t.Cleanup(func() { s.Close() })
			return s
		}
	})
}
