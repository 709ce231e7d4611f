package file_test

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store/file"
)

func TestMain(m *testing.M) {
	if run := helpers[os.Getenv(helperVariable)]; run != nil {
		os.Exit(runHelper(run))
	}
	goleak.VerifyTestMain(m)
}

// place is where a store may be made.
func place(t testing.TB) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "store")
}

func openIn(t testing.TB, dir string, o file.Options) *file.Store {
	t.Helper()
	s := must.Get(file.Open(rig.Deadline(t), dir, o))(t)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

// records are the log's records as text.
func records(t *testing.T, s *file.Store) (all []string) {
	t.Helper()
	for _, r := range rig.Records(t, s) {
		all = append(all, fmt.Sprintf("%d %s", r.Index, r.Data))
	}
	return all
}

func fresh(t *testing.T) func(t *testing.T) *file.Store {
	dir := place(t)
	return func(t *testing.T) *file.Store { return openIn(t, dir, file.Options{}) }
}

// The files of a store's directory.
const (
	dbName      = "rota.db"
	bellName    = "bell"
	queueName   = "queue.lock"
	turnName    = "turn.lock"
	sessionsDir = "sessions"
)

func sessionFiles(t *testing.T, dir string) []os.DirEntry {
	t.Helper()
	entries := must.Get(os.ReadDir(filepath.Join(dir, sessionsDir)))(t)
	return entries
}

// query asks the database itself.
func query[T any](t *testing.T, dir, statement string) (v T) {
	t.Helper()
	db := must.Get(sql.Open("sqlite", filepath.Join(dir, dbName)))(t)
	defer db.Close()
	if err := db.QueryRowContext(rig.Deadline(t), statement).Scan(&v); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
	return v
}

// closed makes a store and closes it.
func closed(t *testing.T, dir string) {
	t.Helper()
	s := must.Get(file.Open(rig.Deadline(t), dir, file.Options{}))(t)
	must.Succeed(t, s.Close())
}
