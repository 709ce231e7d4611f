package file

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/driver/drivertest"
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

// openDriver opens the driver below a store.
func openDriver(t *testing.T, dir string) *rows {
	t.Helper()
	d := must.Get(open(deadline(t), dir, Options{}.withDefaults()))(t)
	t.Cleanup(func() { _ = d.close() })
	return &rows{d}
}

// opened is what opens drivers on one directory.
func opened[D any](t *testing.T) func() D {
	dir := place(t)
	return func() D { return any(openDriver(t, dir)).(D) }
}

// The driver keeps the promises of package driver, with its log and its sessions. No request of a directory is lost on
// its way.
func TestDriver(t *testing.T) {
	t.Parallel()
	drivertest.Documents(t, drivertest.Setup{Open: opened[drivertest.Documenter]})
	drivertest.Journals(t, drivertest.JournalSetup{Open: opened[drivertest.Orderer]})
	drivertest.Vigils(t, drivertest.VigilSetup{Open: opened[drivertest.Seer]})
}

// A store that is well logs no warning, and leaves no file open when it is closed.
func TestAQuietLife(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	ctx := deadline(t)
	s, err := Open(ctx, place(t),
		Options{Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))})
	must.Succeed(t, err)
	_, putErr := s.Put(ctx, store.Doc{Key: "a/b"})
	_, appendErr := s.Append(ctx, []byte("x"))
	must.Succeed(t, errors.Join(putErr, appendErr, s.Close()))
	if log.Len() != 0 {
		t.Errorf("a store that is well warns: %s", log.String())
	}
	if a, b := s.bell.file.Close(), s.bell.beats.Close(); !errors.Is(a, os.ErrClosed) || !errors.Is(b, os.ErrClosed) {
		t.Errorf("the bell is open after the store was closed: %v, %v", a, b)
	}
}

// TestMovedDirectory: a handle whose directory was moved answers nothing and changes nothing, also when another store
// was made at its path; it goes on when the directory is back.
func TestMovedDirectory(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	s := must.Get(Open(deadline(t), dir, Options{}))(t)
	defer s.Close()
	observer := openIn(t, dir, Options{ReadOnly: true})
	must.Succeed(t, must.Err(s.Append(deadline(t), []byte("one"))))
	away := dir + ".away"
	rename := func(from, to string) {
		t.Helper()
		must.Succeed(t, os.Rename(from, to))
	}
	refused := func(says string) {
		t.Helper()
		_, wrote := s.Append(deadline(t), []byte("two"))
		_, read := s.Read(deadline(t), 0, 9)
		_, got := s.Get(deadline(t), "x")
		_, seen := observer.Get(deadline(t), "x")
		for _, err := range []error{wrote, read, got, seen} {
			if !errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), says) {
				t.Errorf("got %v, want %q", err, says)
			}
		}
	}
	rename(dir, away)
	refused("moved or removed")
	other := must.Get(Open(deadline(t), dir, Options{}))(t)
	refused("another store is at its path")
	must.Succeed(t, other.Close())
	rename(dir, dir+".other")
	rename(away, dir)
	page, err := s.Read(deadline(t), 0, 9)
	if err != nil || len(page.Records) != 1 || page.Head != 1 {
		t.Errorf("back: %+v, %v, want the one record", page, err)
	}
}
