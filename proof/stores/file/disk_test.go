package file_test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/file"
)

func TestFullDisk(t *testing.T) {
	t.Parallel()
	disk := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", disk).CombinedOutput(); err != nil {
		t.Skipf("NOT TESTED: no small disk to be had: %v: %s", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", disk).CombinedOutput(); err != nil {
			t.Errorf("umount: %v: %s", err, out)
		}
	})
	dir := filepath.Join(disk, "store")
	s := openIn(t, dir, file.Options{})
	ballast := filepath.Join(disk, "ballast")
	must.Succeed(t, os.WriteFile(ballast, make([]byte, 600<<10), 0o600))
	acknowledged, err := uint64(0), error(nil)
	for index := uint64(0); err == nil; index, err = s.Append(rig.Deadline(t), make([]byte, 3000)) {
		acknowledged = index
	}
	if !errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrUnknown) {
		t.Fatalf("append on a full disk: %v, want unavailable and not unknown", err)
	}
	if got := records(t, s); uint64(len(got)) != acknowledged {
		t.Fatalf("%d records on a full disk, want the %d acknowledged ones", len(got), acknowledged)
	}
	if _, err := s.Put(rig.Deadline(t), store.Doc{Key: "a", Value: make([]byte, 1<<20)}); !errors.Is(err,
		store.ErrUnavailable) {
		t.Fatalf("put on a full disk: %v, want unavailable", err)
	}
	must.Succeed(t, os.Remove(ballast))
	if index, err := s.Append(rig.Deadline(t), nil); err != nil || index != acknowledged+1 {
		t.Fatalf("append when there is room again: index %d, %v; want %d", index, err, acknowledged+1)
	}
	if verdict := query[string](t, dir, "PRAGMA integrity_check"); verdict != "ok" {
		t.Errorf("integrity check: %q", verdict)
	}
}

// TestReadOnlyDisk: what members have left on a disk that takes no writes now can be read, whether they left or died.
func TestReadOnlyDisk(t *testing.T) {
	t.Parallel()
	left := place(t)
	member := openIn(t, left, file.Options{})
	must.Succeed(t, must.Err(member.Append(rig.Deadline(t), []byte("x"))))
	must.Succeed(t, member.Close())
	for from, want := range map[string]int{left: 1, killedStore(t): 10} { // order-free: each by itself
		disk := t.TempDir()
		for _, step := range [][]string{{"--bind", from, disk}, {"-o", "remount,bind,ro", disk}} {
			if out, err := exec.Command("mount", step...).CombinedOutput(); err != nil {
				t.Skipf("NOT TESTED: no disk without writes to be had: %v: %s", err, out)
			}
		}
		s, err := file.Open(rig.Deadline(t), disk, file.Options{ReadOnly: true})
		if err == nil {
			if got := records(t, s); len(got) != want {
				t.Errorf("%d records, want %d", len(got), want)
			}
			err = s.Close()
		}
		if out, err2 := exec.Command("umount", disk).CombinedOutput(); errors.Join(err, err2) != nil {
			t.Errorf("%v; umount: %v: %s", err, err2, out)
		}
	}
}

// killedStore is a directory in which somebody was killed after ten acknowledged records.
func killedStore(t *testing.T) string {
	t.Helper()
	dir := place(t)
	closed(t, dir) // the tables are in the database itself, the records in the journal
	p := start(t, "append ten", dir)
	if text, ok := p.Line(); !ok || text != "10" {
		t.Fatalf("the helper said %q", text)
	}
	p.Kill()
	return dir
}

func TestALostTailIsNoticed(t *testing.T) {
	t.Parallel()
	journal := func(dir string) string { return filepath.Join(dir, dbName+"-wal") }
	for _, c := range []struct {
		name string
		harm func(dir string) error
	}{
		{"half of the journal", func(dir string) error {
			info, err := os.Stat(journal(dir))
			if err != nil {
				return err
			}
			return os.Truncate(journal(dir), info.Size()/2)
		}},
		{"its last transaction", func(dir string) error {
			info, err := os.Stat(journal(dir))
			if err != nil {
				return err
			}
			return os.Truncate(journal(dir), info.Size()-1)
		}},
		{"all of it", func(dir string) error { return os.Remove(journal(dir)) }},
		{"all of it, and nothing was in the database yet", func(dir string) error {
			return errors.Join(os.Remove(journal(dir)), os.Truncate(filepath.Join(dir, dbName), 0))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := killedStore(t)
			must.Succeed(t, c.harm(dir))
			for _, o := range []file.Options{{ReadOnly: true}, {}, {ReadOnly: true}} { // who only looks comes first, and finds nothing mended
				s, err := file.Open(rig.Deadline(t), dir, o)
				if err == nil {
					s.Close()
				}
				if !errors.Is(err, file.ErrDamaged) || !strings.Contains(err.Error(), "10 was acknowledged") {
					t.Errorf("open, read only %v: %v; want damaged, and how far it reached", o.ReadOnly, err)
				}
			}
			must.Succeed(t, os.Remove(filepath.Join(dir, bellName)))
			s := openIn(t, dir, file.Options{})
			if index, err := s.Append(rig.Deadline(t), nil); err != nil || index > 10 {
				t.Errorf("append to what is left: index %d, %v", index, err)
			}
		})
	}
}

func TestOpenAsAnotherUser(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("NOT TESTED: only root can start a process of another user")
	}
	dir := place(t)
	closed(t, dir)
	parent := filepath.Dir(dir)
	for _, d := range []string{parent, filepath.Dir(parent)} {
		must.Succeed(t, os.Chmod(d, 0o755))
	}
	binary := filepath.Join(parent, "helper")
	copyBinary(t, binary)
	for _, c := range []struct {
		name    string
		mode    fs.FileMode
		refused int // how many of the ways to open it are refused for its mode, before any file is touched
	}{{"no entry", 0o700, 0}, {"look only", 0o755, 2}} {
		must.Succeed(t, os.Chmod(dir, c.mode))
		var out []byte
		var err error
		// A process that another test starts in the instant in which the binary is written holds it open for writing
		// until it has begun.
		rig.Eventually(t, "nobody has the binary open",
			func() bool { out, err = openAsNobody(binary, dir); return !errors.Is(err, syscall.ETXTBSY) })
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		if len(lines) != 4 {
			t.Fatalf("%s: %q", c.name, lines)
		}
		for i, line := range lines {
			switch {
			case i < c.refused:
				if !strings.Contains(line, file.ErrShared.Error()) {
					t.Errorf("%s: error %q, want the directory refused", c.name, line)
				}
			case !strings.Contains(line, "permission denied") || !strings.Contains(line, "try as the owner"):
				t.Errorf("%s: error %q, want permission denied and what to try", c.name, line)
			}
		}
	}
}

// TestUmask: the strangest umasks neither open a store to others nor close it to its owner. The other tests of modes
// run under a umask of 0.
func TestUmask(t *testing.T) {
	t.Parallel()
	self := must.Get(os.Executable())(t)
	for _, umask := range []string{"0", "022", "077", "0277", "0777"} {
		dir := place(t)
		cmd := exec.Command("sh", "-c", `umask `+umask+`; exec "$0" "$1"`, self, dir)
		cmd.Env = append(os.Environ(), helperVariable+"=open")
		stdin := must.Get(cmd.StdinPipe())(t)
		out, err := cmd.Output()
		stdin.Close()
		if err != nil || strings.Trim(string(out), "<nil>\n") != "" {
			t.Errorf("umask %s: %v: %s", umask, err, out)
		}
		files := 0
		err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := entry.Info()
			want := fs.FileMode(0o700)
			if !entry.IsDir() {
				want = 0o600
				files++
			}
			if err == nil && info.Mode().Perm() != want {
				t.Errorf("umask %s: %s has mode %04o, want %04o", umask, path, info.Mode().Perm(), want)
			}
			return err
		})
		if err != nil || files < 4 {
			t.Errorf("umask %s: %d files, %v; want the database, the bell and two locks", umask, files, err)
		}
	}
}

// openAsNobody runs the helper that opens a store, and returns what it says.
func openAsNobody(binary, dir string) ([]byte, error) {
	cmd := exec.Command(binary, dir)
	cmd.Env = append(os.Environ(), helperVariable+"=open")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	defer stdin.Close()
	return cmd.Output()
}

func copyBinary(t *testing.T, to string) {
	t.Helper()
	data := must.Get(os.ReadFile("/proc/self/exe"))(t)
	must.Succeed(t, os.WriteFile(to, data, 0o755))
}
