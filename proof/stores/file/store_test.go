package file_test

import (
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/store/faults"
	"github.com/rota-run/rota/lock/locktest"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/protocol/protocoltest"
	"github.com/rota-run/rota/store"
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
	return must.Get(os.ReadDir(filepath.Join(dir, sessionsDir)))(t)
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

func TestLocks(t *testing.T)   { t.Parallel(); locktest.Run(t, fresh) }
func TestStories(t *testing.T) { t.Parallel(); rig.Stories(t, members) }

// members opens members on one directory, each with a handle of its own. A member that crashes is one whose handle is
// closed.
func members(p protocol.Protocol) protocoltest.Setup {
	return protocoltest.Setup{TTL: 2 * time.Second,
		Open: func(t *testing.T) func(*testing.T, cluster.MemberID, time.Duration) protocoltest.Handle {
			dir := place(t)
			return func(t *testing.T, id cluster.MemberID, ttl time.Duration) protocoltest.Handle {
				t.Helper()
				opened := must.Get(file.Open(t.Context(), dir, file.Options{}))(t)
				f := faults.NewFaulty(opened, nil)
				m := must.Get(p.New(protocol.Config{Member: id, Store: f, TTL: ttl, SnapshotEvery: 20}))(t)
				return protocoltest.Handle{Member: m, Crash: func() { _ = f.Close() }, Away: f.Away}
			}
		}}
}

// Tests that need several processes start the test binary again; this variable says what the process is for.
const helperVariable = "ROTA_FILE_TEST_HELPER"

// helpers are what such a process can do. It gets the store's directory as its argument, talks on stdout, and ends with
// stdin.
var helpers = map[string]func(ctx context.Context, dir string, out io.Writer) error{
	"append":     helpAppend,
	"append ten": helpAppendTen,
	"session":    helpSession,
	"open":       helpOpen,
}

func runHelper(run func(ctx context.Context, dir string, out io.Writer) error) int {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		io.Copy(io.Discard, os.Stdin) // ends with the test, however that ends
		cancel()
	}()
	if err := run(ctx, os.Args[1], os.Stdout); err != nil && ctx.Err() == nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func start(t testing.TB, helper, dir string) *rig.Process {
	t.Helper()
	return rig.Again(t, helperVariable, helper, dir)
}

// helpAppend appends without end, and prints the index of each record that was acknowledged.
func helpAppend(ctx context.Context, dir string, out io.Writer) error {
	s, err := file.Open(ctx, dir, file.Options{})
	if err != nil {
		return err
	}
	defer s.Close()
	writer := rand.Text()
	for i := 0; ctx.Err() == nil; i++ {
		index, err := s.Append(ctx, fmt.Appendf(nil, "%s %d", writer, i))
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%d %s %d\n", index, writer, i)
	}
	return nil
}

// helpSession puts a document with a session, starts a child that outlives it, and prints the child's process id.
func helpSession(ctx context.Context, dir string, out io.Writer) error {
	s, err := file.Open(ctx, dir, file.Options{})
	if err != nil {
		return err
	}
	defer s.Close()
	session, err := s.OpenSession(ctx, time.Minute)
	if err != nil {
		return err
	}
	if _, err := session.Put(ctx, store.Doc{Key: "s/1", Value: []byte("here")}); err != nil {
		return err
	}
	child := exec.Command("sleep", "600")
	if err := child.Start(); err != nil {
		return err
	}
	fmt.Fprintln(out, child.Process.Pid)
	<-ctx.Done()
	return nil
}

// helpAppendTen appends ten records, prints the last index and waits to be killed, so that the journal stays as it is.
func helpAppendTen(ctx context.Context, dir string, out io.Writer) error {
	s, err := file.Open(ctx, dir, file.Options{})
	if err != nil {
		return err
	}
	var index uint64
	for range 10 {
		if index, err = s.Append(ctx, make([]byte, 3000)); err != nil {
			return err
		}
	}
	fmt.Fprintln(out, index)
	<-ctx.Done()
	return nil
}

// helpOpen opens the store, for tests of what another user may do, and prints the error.
func helpOpen(ctx context.Context, dir string, out io.Writer) error {
	for _, o := range []file.Options{{}, {ReadOnly: true}, {AllowShared: true}, {AllowShared: true, ReadOnly: true}} {
		s, err := file.Open(ctx, dir, o)
		fmt.Fprintln(out, err)
		if err == nil {
			s.Close()
		}
	}
	return nil
}
