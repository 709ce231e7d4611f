package lock_test

import (
	"testing"

	"github.com/rota-run/rota/lock/locktest"
	"github.com/rota-run/rota/store/memory"
)

// TestSuite plays the suite in virtual time. The tests of each store play it in real time.
func TestSuite(t *testing.T) {
	t.Parallel()
	locktest.RunVirtual(t, func(*testing.T) func(*testing.T) *memory.Store {
		server := memory.New()
		return func(t *testing.T) *memory.Store {
			s := server.Open()
			t.Cleanup(func() { s.Close() })
			return s
		}
	})
}
