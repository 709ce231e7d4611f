package memory_test

import (
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

func TestRefused(t *testing.T) {
	t.Parallel()
	ctx, s, big := t.Context(), open(t)(t), make([]byte, memory.MaxRecord+1)
	_, appended := s.Append(ctx, big)
	if _, put := s.Put(ctx, store.Doc{Key: "a", Value: big}); !errors.Is(appended, store.ErrTooLarge) ||
		!errors.Is(put, store.ErrTooLarge) {
		t.Errorf("%d bytes: append %v, put %v, want ErrTooLarge", len(big), appended, put)
	}
	s.Close()
	_, joined := s.JoinGroup(ctx, store.JoinRequest{Rebalance: 1})
	if left := s.LeaveGroup(ctx, ""); errors.Is(errors.Join(joined, left), store.ErrClosed) {
		t.Errorf("without a session it joins: %v; without an ID it leaves: %v", joined, left)
	}
}

func TestFlawsFit(t *testing.T) { t.Parallel(); mutanttest.Fit(t) }

func TestFlawsAreFound(t *testing.T) {
	mutanttest.AreFound(t, "store/memory", "-test.timeout", "20s", "-rapid.nofailfile", "-rapid.shrinktime", "1s",
		"-rapid.seed", "1", "-rapid.checks", "2000")
}
