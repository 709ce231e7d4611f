package doclog

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/file"
	"github.com/rota-run/rota/store/memory"
	"github.com/rota-run/rota/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds waits that only a failure exhausts.
const patience = 60 * time.Second

func deadline(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// small are options under which short tests have many parts.
func small() Options { return Options{PartBytes: 3, Ahead: 4} }

// whole is a handle on a store that has all abilities.
type whole interface {
	Store
	store.Watcher
	store.LogWatcher
	store.Sessions
}

// over puts a log into documents, of which the test says that they are a whole store.
func over(t testing.TB, docs Docs, o Options) whole {
	t.Helper()
	s, err := New(docs, o)
	must.Succeed(t, err)
	t.Cleanup(func() { s.Close() })
	return s.(whole)
}

// onMemory and onFile open handles on the documents of a fresh store.
func onMemory(*testing.T) func(t *testing.T) whole {
	server := memory.New()
	return func(t *testing.T) whole { return over(t, server.Open(), small()) }
}

func onFile(t *testing.T) func(t *testing.T) whole {
	dir := filepath.Join(t.TempDir(), "store")
	return func(t *testing.T) whole {
		s, err := file.Open(deadline(t), dir, file.Options{})
		must.Succeed(t, err)
		return over(t, s, Options{})
	}
}

// both runs a suite over the documents of either store.
func both(t *testing.T, suite func(t *testing.T, open storetest.Open[whole])) {
	t.Helper()
	t.Parallel()
	t.Run("memory", func(t *testing.T) { t.Parallel(); suite(t, onMemory) })
	t.Run("file", func(t *testing.T) { t.Parallel(); suite(t, onFile) })
}

func TestDocs(t *testing.T)     { both(t, storetest.Docs[whole]) }
func TestLog(t *testing.T)      { both(t, storetest.Log[whole]) }
func TestSeed(t *testing.T)     { both(t, storetest.Seed[whole]) }
func TestWatch(t *testing.T)    { both(t, storetest.Watch[whole]) }
func TestLogWatch(t *testing.T) { both(t, storetest.LogWatch[whole]) }
func TestSessions(t *testing.T) { both(t, storetest.Sessions[whole]) }
