package lock_test

import (
	"testing"

	"github.com/rota-run/rota/lock/locktest"
	"github.com/rota-run/rota/store/file"
	"github.com/rota-run/rota/store/memory"
)

func TestOnMemory(t *testing.T) {
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

func TestOnFile(t *testing.T) {
	t.Parallel()
	locktest.Run(t, func(t *testing.T) func(*testing.T) *file.Store {
		dir := t.TempDir()
		return func(t *testing.T) *file.Store {
			s, err := file.Open(deadline(t), dir, file.Options{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { s.Close() })
			return s
		}
	})
}
