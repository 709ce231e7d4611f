package chaos

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// diskSize is that of the small disk. The store needs a few MiB.
const diskSize = "48m"

// machine is what this machine can do.
type machine struct {
	disk      string // where the store's directory is
	mounted   bool
	noDisk    string // why there is no small disk; "" if there is one
	noTracing string // why there is no injection
}

// prepareMachine makes the store's disk below a directory and finds out what can be done.
func prepareMachine(dir string) (machine, error) {
	m := machine{disk: filepath.Join(dir, "disk")}
	if err := os.MkdirAll(m.disk, 0o750); err != nil {
		return m, fmt.Errorf("make a disk: %w", err)
	}
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size="+diskSize, "rota-chaos", m.disk).CombinedOutput(); err != nil {
		m.noDisk = oneLine(out, err)
	} else {
		m.mounted = true
	}
	if out, err := exec.Command("strace", "-qq", "-o", "/dev/null", "-e", "trace=fsync", "-e", "inject=fsync:error=EIO:when=1", "true").CombinedOutput(); err != nil {
		m.noTracing = oneLine(out, err)
	}
	return m, nil
}

func oneLine(out []byte, err error) string {
	if text := strings.Join(strings.Fields(string(out)), " "); text != "" {
		return text
	}
	return err.Error()
}

// lacks says why something cannot be done; "" if it can.
func (m machine) lacks(what string) string {
	switch what {
	case smallDisk:
		return m.noDisk
	case injection:
		return m.noTracing
	}
	return ""
}

func (m machine) ballast() string { return filepath.Join(m.disk, "ballast") }

// fill writes until the disk has no byte left.
func (m machine) fill() error {
	f, err := os.Create(m.ballast())
	if err != nil && !errors.Is(err, syscall.ENOSPC) {
		return fmt.Errorf("fill the disk: %w", err)
	}
	if f == nil {
		return nil
	}
	defer f.Close()
	for _, size := range []int{1 << 20, 1 << 12} {
		block := bytes.Repeat([]byte{'x'}, size)
		for err = nil; err == nil; {
			_, err = f.Write(block)
		}
		if !errors.Is(err, syscall.ENOSPC) && !errors.Is(err, io.ErrShortWrite) {
			return fmt.Errorf("fill the disk: %w", err)
		}
	}
	return nil
}

// free makes room again.
func (m machine) free() error {
	if err := os.Remove(m.ballast()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("free the disk: %w", err)
	}
	return nil
}

// close gives the disk back. The store's content is copied out first, so that a failed play can be looked at.
func (m machine) close() error {
	if !m.mounted {
		return nil
	}
	_ = os.Remove(m.ballast())
	err := copyDir(filepath.Join(m.disk, "store"), filepath.Join(filepath.Dir(m.disk), "store-at-the-end"))
	// Lazily: a process that is being started elsewhere in this program holds all that was open here, until it runs its own program.
	if out, e := exec.Command("umount", "-l", m.disk).CombinedOutput(); e != nil {
		err = errors.Join(err, fmt.Errorf("umount %s: %s", m.disk, oneLine(out, e)))
	}
	return err
}

// copyDir copies the files of a directory.
func copyDir(from, to string) error {
	if err := os.RemoveAll(to); err != nil {
		return fmt.Errorf("copy the store: %w", err)
	}
	if err := os.MkdirAll(to, 0o700); err != nil { // a store is for its owner alone
		return fmt.Errorf("copy the store: %w", err)
	}
	if err := os.CopyFS(to, files{os.DirFS(from)}); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("copy the store: %w", err)
	}
	return nil
}

// files are a tree without its sockets, at which members answer while they live: they have nothing to copy.
type files struct{ fs.FS }

func (f files) ReadDir(name string) ([]fs.DirEntry, error) {
	all, err := fs.ReadDir(f.FS, name)
	return slices.DeleteFunc(all, func(e fs.DirEntry) bool { return e.Type()&fs.ModeSocket != 0 }), err
}
