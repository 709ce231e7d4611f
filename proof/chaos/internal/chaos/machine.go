package chaos

import (
	"bytes"
	"context"
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
	"time"

	"github.com/rota-run/rota/proof/process"
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
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size="+diskSize, "rota-chaos",
		m.disk).CombinedOutput(); err != nil {
		m.noDisk = oneLine(out, err)
	} else {
		m.mounted = true
	}
	if out, err := exec.Command("strace", "-qq", "-o", "/dev/null", "-e", "trace=fsync", "-e",
		"inject=fsync:error=EIO:when=1", "true").CombinedOutput(); err != nil {
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
	// Lazily: a process that is being started elsewhere in this program holds all that was open here, until it runs its
	// own program.
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

// failSync lets the disk refuse one member's fsync for a while.
func (c *Cluster) failSync(context.Context) (string, error) {
	return c.inject("fsync-fails", "fsync fails", c.between(20, 130), "-e", "trace=fsync,fdatasync", "-e",
		"inject=fsync,fdatasync:error=EIO")
}

// failWrite lets one member's writes to the database's journal fail, as on a full or a broken disk.
func (c *Cluster) failWrite(context.Context) (string, error) {
	code := []string{"EIO", "ENOSPC"}[c.chance.IntN(2)]
	return c.inject("write-fails", "writes fail with "+code, c.between(20, 130),
		"-P", c.storeDir()+"/rota.db-wal", "-e", "trace=write,pwrite64", "-e", "inject=write,pwrite64:error="+code)
}

// slowDisk makes one member's fsync slow; it has the turn to write meanwhile.
func (c *Cluster) slowDisk(context.Context) (string, error) {
	return c.inject("disk-slow", "fsync takes 60 ms more", c.between(50, 150), "-e", "trace=fsync,fdatasync", "-e",
		"inject=fsync,fdatasync:delay_enter=60000")
}

// inject has strace spoil system calls of one member for a while.
func (c *Cluster) inject(kind, what string, d time.Duration, args ...string) (string, error) {
	p, err := c.pick(func(p *started) bool { return !p.traced })
	if err != nil {
		return "", err
	}
	calls := p.log + ".strace"
	args = append([]string{"-f", "-qq", "-o", calls, "-p", fmt.Sprint(p.PID())}, args...)
	tracer, err := process.Start(exec.Command("strace", args...))
	if err != nil {
		return "", err
	}
	p.traced = true
	status := fmt.Sprintf("/proc/%d/status", p.PID())
	c.await("strace is attached", func() bool { return p.Ended() || traced(status) })
	c.later(d, p.Ended, func() error {
		p.traced = false
		if err := ignoreEnd(tracer.Signal(os.Interrupt)); err != nil {
			return err
		}
		select {
		case <-tracer.Done():
			return c.countInjected(kind, calls)
		case <-time.After(patience):
			return errors.Join(errors.New("strace does not end"), tracer.Kill())
		}
	})
	return fmt.Sprintf("%s: %s for %s", p.name, what, d.Round(time.Millisecond)), nil
}

// countInjected counts the system calls that were spoilt: a fault that hit nothing proves nothing.
func (c *Cluster) countInjected(kind, calls string) error {
	b, err := os.ReadFile(calls)
	if errors.Is(err, os.ErrNotExist) {
		return nil // the member ended before strace was there
	}
	if err != nil {
		return fmt.Errorf("count what was injected: %w", err)
	}
	c.injected[kind] += strings.Count(string(b), "(INJECTED)") + strings.Count(string(b), "(DELAYED)")
	return os.Remove(calls)
}

func traced(status string) bool {
	b, err := os.ReadFile(status)
	return err == nil && strings.Contains(string(b), "TracerPid:\t") && !strings.Contains(string(b), "TracerPid:\t0\n")
}
