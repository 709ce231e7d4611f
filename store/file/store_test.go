package file

import (
	"context"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/rota-run/rota/store/storetest"
)

func TestMain(m *testing.M) {
	if run := helpers[os.Getenv(helperVariable)]; run != nil {
		os.Exit(runHelper(run))
	}
	goleak.VerifyTestMain(m)
}

// patience bounds waits that only a failure exhausts.
const patience = 60 * time.Second

func deadline(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

func openIn(t testing.TB, dir string, o Options) *Store {
	t.Helper()
	s, err := Open(deadline(t), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

func fresh(t *testing.T) func(t *testing.T) *Store {
	dir := t.TempDir()
	return func(t *testing.T) *Store { return openIn(t, dir, Options{}) }
}

func TestDocs(t *testing.T)     { t.Parallel(); storetest.Docs(t, fresh) }
func TestLog(t *testing.T)      { t.Parallel(); storetest.Log(t, fresh) }
func TestSeed(t *testing.T)     { t.Parallel(); storetest.Seed(t, fresh) }
func TestWatch(t *testing.T)    { t.Parallel(); storetest.Watch(t, fresh) }
func TestLogWatch(t *testing.T) { t.Parallel(); storetest.LogWatch(t, fresh) }
func TestSessions(t *testing.T) { t.Parallel(); storetest.Sessions(t, fresh) }
