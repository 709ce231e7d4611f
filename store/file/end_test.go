//go:build unix

package file

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/driver"
)

// A copy of the lock file keeps the session: a guardian ends what its member has started before others hear of the
// death.
func TestACopyOfTheLockFileKeepsTheSession(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	a, b := openIn(t, dir, Options{}), openIn(t, dir, Options{})
	s := must.Get(a.hold(t.Context()))(t)
	key := s.EndKey()
	if key.Text != "" || key.File == nil {
		t.Fatalf("the key is %+v", key)
	}
	must.Succeed(t, must.Err(s.Swap(t.Context(), driver.Op{Key: "d/pulse/a/1", Name: "1"})))
	hints := must.Get(b.Watch(t.Context(), "pulse/a/"))(t)
	<-hints
	fd := must.Get(unix.Dup(int(key.File.Fd())))(t)
	kept := os.NewFile(uintptr(fd), "copy")
	if err := s.file.Close(); err != nil { // as the kernel does when the process dies
		t.Fatal(err)
	}
	if b.ended(s.id) {
		t.Error("the session is dead, and its lock file is open")
	}
	must.Succeed(t, kept.Close())
	select {
	case <-hints:
	case <-deadline(t).Done():
		t.Error("the death of who wrote before the watch began was not told")
	}
	if !b.ended(s.id) {
		t.Error("the session is alive, and nobody holds its lock file open")
	}

	opened, err := a.OpenSession(t.Context(), time.Minute)
	must.Succeed(t, err)
	file := opened.(store.EndableSession).EndKey().File
	if fd, err = unix.Dup(int(file.Fd())); err != nil {
		t.Fatal(err)
	}
	kept = os.NewFile(uintptr(fd), "copy")
	defer func() { _ = kept.Close() }()
	must.Succeed(t, opened.Close(t.Context()))
	if _, err := opened.Put(t.Context(), store.Doc{Key: "x"}); !errors.Is(err, store.ErrSession) {
		t.Errorf("a write of a closed session: %v", err)
	}
	if id := strings.TrimSuffix(filepath.Base(file.Name()), ".new"); !b.ended(id) {
		t.Error("Close left the session alive for the copy")
	}
}

// A lock file that cannot be looked at may be held: its session counts as alive. What one that has ended has left is in
// nobody's way.
func TestALockFileThatCannotBeLookedAt(t *testing.T) {
	t.Parallel()
	dir := place(t)
	a, b := openIn(t, dir, Options{Processes: -1}), openIn(t, dir, Options{}) // as many as usual
	s := must.Get(a.hold(t.Context()))(t)
	must.Succeed(t, must.Err(s.Swap(t.Context(), driver.Op{Key: "d/k", Name: "1"})))
	name := filepath.Join(dir, sessionName(s.id))
	must.Succeed(t, os.Remove(name))
	must.Succeed(t, os.Symlink("/", name)) // it leads out of the directory: nobody may follow it
	if b.ended(s.id) {
		t.Error("the session is dead, and nobody could look")
	}
	must.Succeed(t, os.Remove(name))
	other := must.Get(a.hold(t.Context()))(t)
	must.Succeed(t, os.Rename(filepath.Join(dir, sessionName(other.id)), filepath.Join(dir, "another")))
	must.Succeed(t, os.WriteFile(filepath.Join(dir, sessionName(other.id)), nil, fileMode))
	if other.alive() || !other.over() {
		t.Error("the session is alive, and another file has the name of its lock file")
	}
	if _, err := s.Swap(t.Context(), driver.Op{Key: "d/x", Name: "1"}); !b.ended(s.id) || !s.over() ||
		!errors.Is(err, store.ErrSession) {
		t.Errorf("the session is alive, and has no lock file: %v", err)
	}
	must.Succeed(t, must.Err((&rows{b.disk}).Swap(t.Context(), driver.Op{Key: "d/k", Name: "2"})))
}

// A lock file has its name only once it is locked: a process that finds it free takes its session for dead.
func TestALockFileIsNeverFreeAtItsStart(t *testing.T) {
	t.Parallel()
	a := openIn(t, place(t), Options{})
	for range 300 {
		id, done, early := unique(), make(chan struct{}), make(chan bool, 1)
		go func() {
			for looks := 0; ; looks++ {
				select {
				case <-done:
					early <- false
					return
				default:
				}
				if f, err := a.root.Open(sessionName(id)); err == nil {
					isFree := free(f)
					if f.Close(); isFree {
						early <- true
						return
					}
				}
			}
		}()
		f, err := lockedFile(a.root, id, a.options)
		close(done)
		if <-early || err != nil {
			t.Fatalf("a lock file was found free at its start, %v", err)
		}
		must.Succeed(t, f.Close())
	}
}

// A burial whose transaction fails leaves the lock file: without it, what the session wrote would be gone for some and
// there for others.
func TestABurialThatFailsLeavesTheLockFile(t *testing.T) {
	t.Parallel()
	a := openIn(t, place(t), Options{})
	s, err := a.hold(t.Context())
	must.Succeed(t, err)
	err = a.change(t.Context(), 0, func(tx *tx) error {
		if err := a.buryIn(tx, s.id); err != nil {
			return err
		}
		return errors.New("the disk fails")
	})
	if err == nil {
		t.Fatal("the change is made: the story is another one")
	}
	if _, err := a.root.Stat(sessionName(s.id)); err != nil {
		t.Errorf("its lock file: %v", err)
	}
	must.Succeed(t, must.Err(a.Append(t.Context(), nil))) // the next one is not in the way of what failed
}

// TestManySessions: with more sessions than one look tries, each has its turn. What a dead one wrote is removed, and
// its watchers are told.
func TestManySessions(t *testing.T) {
	t.Parallel()
	a, ids, held := openIn(t, place(t), Options{}), map[string]bool{}, map[string]*session{}
	for range probesPerLook + 1 {
		s := must.Get(a.hold(t.Context()))(t)
		ids[s.id], held[s.id] = true, s
	}
	defer runtime.KeepAlive(held) // the garbage collector closes a file that nobody refers to
	p := probes{disk: a.disk}
	defer p.closeAll()
	ids["gone"] = true
	if dead := p.keep(ids); !slices.Equal(dead, []string{"gone"}) {
		t.Errorf("without a lock file are %q", dead)
	}
	last := held[p.order[probesPerLook]]
	must.Succeed(t, must.Err(last.Swap(t.Context(), driver.Op{Key: "d/position/b", Name: "1"})))
	must.Succeed(t, must.Err(last.Swap(t.Context(), driver.Op{Key: "d/pulse/a", Name: "2"})))
	before := must.Get(a.bell.look())(t)
	last.end()
	if dead := append(p.look(), p.look()...); !slices.Equal(dead, []string{last.id}) {
		t.Errorf("%q have ended, want %q", dead, last.id)
	}
	if len(p.files) != probesPerLook || len(p.order) != probesPerLook {
		t.Errorf("%d files of %d living sessions are open", len(p.files), probesPerLook)
	}
	if p.keep(nil); len(p.files)+len(p.order) > 0 {
		t.Errorf("%d files are open that nobody wants", len(p.files))
	}
	buried(t, a)
	if now := must.Get(a.bell.look())(t); !before.touches(now, "d/position/") || !before.touches(now, "d/pulse/") {
		t.Error("a watcher of one of the two rows was not told that they are gone")
	}
}

// buried waits until no burial is under way.
func buried(t *testing.T, a *Store) {
	t.Helper()
	eventually(t, "the burial is over", func() bool { a.mu.Lock(); defer a.mu.Unlock(); return len(a.burying) == 0 })
}

// TestSweep: a draft of a lock file goes when nobody can be about to name it, and what a dead session left, which is
// buried once. A living one stays.
func TestSweep(t *testing.T) {
	t.Parallel()
	a := openIn(t, place(t), Options{})
	for name, age := range map[string]time.Duration{"old.new": 2 * draftAge, "young.new": draftAge / 2} {
		path := filepath.Join(a.dir, sessionsDir, name)
		must.Succeed(t, os.WriteFile(path, nil, fileMode))
		must.Succeed(t, os.Chtimes(path, time.Time{}, time.Now().Add(-age)))
	}
	must.Succeed(t, os.WriteFile(filepath.Join(a.dir, sessionName("dead")), nil, fileMode))
	s := must.Get(a.hold(t.Context()))(t)
	release := holdTurn(t, a)
	a.sweep()
	a.sweep()
	a.writer.mu.Lock()
	if n := len(a.writer.queue); n != 1 {
		t.Errorf("%d burials wait, want one", n)
	}
	a.writer.mu.Unlock()
	release()
	buried(t, a)
	var left []string
	for _, f := range sessionFiles(t, a.dir) {
		left = append(left, f.Name())
	}
	want := []string{s.id + ".lock", "young.new"}
	slices.Sort(want) // an ID is random: it may come after the draft
	if !slices.Equal(left, want) {
		t.Errorf("%q are left, want the living session and the young draft: %q", left, want)
	}
}

// busyStore has all files that a store can have: a journal, and the lock of a session.
func busyStore(t *testing.T, dir string, o Options) *Store {
	t.Helper()
	s, ctx := openIn(t, dir, o), deadline(t)
	session := must.Get(s.OpenSession(ctx, time.Minute))(t)
	_, putErr := session.Put(ctx, store.Doc{Key: "a/b"})
	_, appendErr := s.Append(ctx, []byte("x"))
	must.Succeed(t, errors.Join(putErr, appendErr, s.SaveSnapshot(ctx, store.Record{Index: 1})))
	return s
}

// checkModes looks at the modes of all files below a directory.
func checkModes(t *testing.T, dir string, own fs.FileMode) {
	t.Helper()
	seen := 0
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		want := fs.FileMode(0o600)
		switch {
		case path == dir:
			want = own
		case entry.IsDir():
			want = 0o700
		default:
			seen++
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s has mode %04o, want %04o", path, got, want)
		}
		return nil
	})
	if err != nil || seen != 8 {
		t.Errorf("%d files, %v; want rota.db, -wal, -shm, bell, two locks of writers, that of a session and a seat",
			seen, err)
	}
}

// TestPrivate: what a store makes is for its owner alone, though the umask of these tests is 0.
func TestPrivate(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(place(t), "a", "b")
	busyStore(t, dir, Options{})
	checkModes(t, dir, 0o700)
	checkModes(t, filepath.Dir(filepath.Dir(dir)), 0o700)
}

// TestSharedDirectory: a directory that others may enter is refused to members, clients and observers, until it is
// closed to them or allowed. Nothing is made in one that is refused.
func TestSharedDirectory(t *testing.T) {
	t.Parallel()
	for _, mode := range []fs.FileMode{0o755, 0o750, 0o770, 0o707, 0o711, 0o701, 0o720} {
		dir := place(t)
		must.Succeed(t, os.Mkdir(dir, mode))
		err := must.Err(Open(deadline(t), dir, Options{}))
		if made := must.Get(os.ReadDir(dir))(t); !errors.Is(err, ErrShared) || len(made) > 0 {
			t.Errorf("open: %v, and it has %v", err, made)
		}
		must.Succeed(t, os.Chmod(dir, dirMode))
		busyStore(t, dir, Options{}).Close()
		must.Succeed(t, os.Chmod(dir, mode))
		for _, o := range []Options{{}, {MustExist: true}, {ReadOnly: true}} {
			s, err := Open(deadline(t), dir, o)
			if err == nil {
				s.Close()
			}
			if !errors.Is(err, ErrShared) || !strings.Contains(err.Error(), dir) {
				t.Errorf("open a directory of mode %04o: %v, want it refused and named", mode, err)
			}
		}
		busyStore(t, dir, Options{AllowShared: true})
		checkModes(t, dir, mode)
		openIn(t, dir, Options{AllowShared: true, ReadOnly: true})
	}
}

// TestOlderFilesAreNarrowed: a store of an earlier version had files that others may read; a member closes them, also
// beside one that is at work.
func TestOlderFilesAreNarrowed(t *testing.T) {
	t.Parallel()
	dir := place(t)
	s := busyStore(t, dir, Options{})
	for _, name := range []string{dbName, dbName + "-wal", dbName + "-shm", bellName, queueName, turnName} {
		must.Succeed(t, os.Chmod(filepath.Join(dir, name), 0o666))
	}
	must.Succeed(t, os.Chmod(filepath.Join(dir, sessionsDir), 0o777))
	other := openIn(t, dir, Options{})
	checkModes(t, dir, 0o700)
	for _, h := range []*Store{s, other} {
		if _, err := h.Append(deadline(t), []byte("y")); err != nil {
			t.Error(err)
		}
	}
	if got := records(t, s); len(got) != 3 {
		t.Errorf("records %q, want three", got)
	}
}
