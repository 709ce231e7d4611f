package storetest_test

import (
	"context"
	"flag"
	"testing"

	"github.com/rota-run/rota/internal/proof/mutant/mutanttest"
	"github.com/rota-run/rota/store/memory"
	"github.com/rota-run/rota/store/storetest"
)

// fresh is a store with a Refresh, which has nothing to do: the lists of memory are never stale.
type fresh struct{ *memory.Store }

func (fresh) Refresh(context.Context) error { return nil }

var brief = flag.Duration("patience", 0, "what suites wait for at most, where they are meant to fail")

// TestMemory runs the suites on a store in memory. That the rules of queues find what is broken is shown by the flaws
// of store/internal/logqueue.
func TestMemory(t *testing.T) {
	t.Parallel()
	if *brief > 0 {
		storetest.SetPatience(*brief)
	}
	open := func(*testing.T) func(t *testing.T) fresh {
		server := memory.New()
		return func(t *testing.T) fresh {
			s := server.Open()
			t.Cleanup(func() { _ = s.Close() })
			return fresh{s}
		}
	}
	t.Run("docs", func(t *testing.T) { storetest.Docs(t, open) })
	t.Run("getmany", func(t *testing.T) { storetest.GetMany(t, open) })
	t.Run("log", func(t *testing.T) { storetest.Log(t, open) })
	t.Run("watch", func(t *testing.T) { storetest.Watch(t, open) })
	t.Run("sessions", func(t *testing.T) { storetest.Sessions(t, open) })
}

func TestFlawsFit(t *testing.T) { t.Parallel(); mutanttest.Fit(t) }

func TestFlawsAreFound(t *testing.T) {
	t.Parallel()
	mutanttest.AreFound(t, "store/storetest", "-patience", "2s")
}
