package file

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/store/storetest"
)

// patience bounds waits that only a failure exhausts.
const patience = 60 * time.Second

func deadline(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// place is where a store may be made.
func place(t testing.TB) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "store")
}

func openIn(t testing.TB, dir string, o Options) *Store {
	t.Helper()
	s := must.Get(Open(deadline(t), dir, o))(t)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

// records are the log's records as text.
func records(t *testing.T, s *Store) []string {
	t.Helper()
	var all []string
	for after := uint64(0); ; {
		page := must.Get(s.Read(deadline(t), after, 1000))(t)
		for _, r := range page.Records {
			all = append(all, fmt.Sprintf("%d %s", r.Index, r.Data))
			after = r.Index
		}
		if after == page.Head {
			return all
		}
	}
}

// eventually asks again and again, until patience ends.
func eventually(t *testing.T, what string, ask func() bool) {
	t.Helper()
	end := time.Now().Add(patience)
	for !ask() {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", patience, what)
		}
		time.Sleep(time.Millisecond) // waits: between two looks at a condition; only a failure waits for the end
	}
}

func fresh(t *testing.T) func(t *testing.T) *Store {
	dir := place(t)
	return func(t *testing.T) *Store { return openIn(t, dir, Options{}) }
}

func TestDocs(t *testing.T)     { t.Parallel(); storetest.Docs(t, fresh) }
func TestGetMany(t *testing.T)  { t.Parallel(); storetest.GetMany(t, fresh) }
func TestLog(t *testing.T)      { t.Parallel(); storetest.Log(t, fresh) }
func TestSeed(t *testing.T)     { t.Parallel(); storetest.Seed(t, fresh) }
func TestWatch(t *testing.T)    { t.Parallel(); storetest.Watch(t, fresh) }
func TestLogWatch(t *testing.T) { t.Parallel(); storetest.LogWatch(t, fresh) }
func TestSessions(t *testing.T) { t.Parallel(); storetest.Sessions(t, fresh) }
func TestQueue(t *testing.T)    { t.Parallel(); storetest.Queue(t, fresh); storetest.QueueJoins(t, fresh) }
