package logqueue_test

import (
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/store/driver/drivermap"
	"github.com/rota-run/rota/store/engine/full"
	"github.com/rota-run/rota/store/storetest"
)

// TestQueue plays the suite on a store that keeps data beside its logs, until their flow is dropped.
func TestQueue(t *testing.T) {
	t.Parallel()
	open := func(*testing.T) func(t *testing.T) *full.Bare {
		m := drivermap.New()
		return func(t *testing.T) *full.Bare {
			s := full.NewBare(m.OpenKeeping(), full.Options{Place: "here"})
			t.Cleanup(func() { must.Succeed(t, s.Close()) })
			return s
		}
	}
	storetest.Queue(t, open)
	storetest.QueueJoins(t, open)
}
