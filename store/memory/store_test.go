package memory_test

import (
	"context"
	"errors"
	"testing"

	"go.uber.org/goleak"

	"github.com/rota-run/rota/internal/proof/mutant/mutanttest"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
	"github.com/rota-run/rota/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T) func(t *testing.T) *memory.Store {
	server := memory.New()
	return func(t *testing.T) *memory.Store {
		s := server.Open()
		t.Cleanup(func() { s.Close() })
		return s
	}
}

func TestDocs(t *testing.T)     { t.Parallel(); storetest.Docs(t, open) }
func TestGetMany(t *testing.T)  { t.Parallel(); storetest.GetMany(t, open) }
func TestLog(t *testing.T)      { t.Parallel(); storetest.Log(t, open) }
func TestSeed(t *testing.T)     { t.Parallel(); storetest.Seed(t, open) }
func TestWatch(t *testing.T)    { t.Parallel(); storetest.Watch(t, open) }
func TestLogWatch(t *testing.T) { t.Parallel(); storetest.LogWatch(t, open) }
func TestSessions(t *testing.T) { t.Parallel(); storetest.Sessions(t, open) }
func TestGroup(t *testing.T)    { t.Parallel(); storetest.GroupVirtual(t, open) }
func TestQueue(t *testing.T)    { t.Parallel(); storetest.Queue(t, open); storetest.QueueJoins(t, open) }

func TestTooLarge(t *testing.T) {
	t.Parallel()
	s := open(t)(t)
	big := make([]byte, memory.MaxRecord+1)
	if _, err := s.Append(context.Background(), big); !errors.Is(err, store.ErrTooLarge) {
		t.Errorf("append of %d bytes: error %v, want ErrTooLarge", len(big), err)
	}
	if _, err := s.Put(context.Background(), store.Doc{Key: "a", Value: big}); !errors.Is(err, store.ErrTooLarge) {
		t.Errorf("put of %d bytes: error %v, want ErrTooLarge", len(big), err)
	}
}

func TestFlawsFit(t *testing.T) { t.Parallel(); mutanttest.Fit(t) }

func TestFlawsAreFound(t *testing.T) {
	mutanttest.AreFound(t, "store/memory", "-test.timeout", "20s", "-rapid.nofailfile", "-rapid.shrinktime", "1s",
		"-rapid.seed", "1", "-rapid.checks", "2000")
}
