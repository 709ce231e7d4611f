package program

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// group is the control group of a room. Its process holds the directory locked for itself alone, until it dies: then
// the programs belong to nobody, and everyone who sees that ends them, several at once if need be.
//
// It holds two locks. A flock belongs to a descriptor: children hold it too until they replace their program, and when
// a process dies, its flocks are released one after the other. Others may see that a member has died, by the flock of
// its session, before this one is released. A lock of POSIX belongs to the process alone, and the kernel releases all
// of them before the first flock. So a group with a flock and no lock of POSIX has an owner that is dying.
type group struct {
	own  string // that of the process
	dir  string
	file *os.File
}

// processName is in the names of all groups of this process. It must not look at them: a process that closes a
// descriptor of a file loses its POSIX locks of it.
//
// read-only: chosen at the start.
var processName = rand.Text()[:8]

const (
	groupPrefix = "rota-"
	killFile    = "cgroup.kill"
	killPause   = 2 * time.Millisecond // between two looks at what was killed and has not ended
)

// newGroup makes a group below that of this process, and ends those beside it that belong to nobody.
func newGroup(name string) (*group, error) {
	own, err := ownGroup()
	if err != nil {
		return nil, err
	}
	g := &group{own: own, dir: filepath.Join(own, groupPrefix+processName+name)}
	for attempt := 0; g.file == nil; attempt++ {
		if g.file, err = makeGroup(g.dir); err != nil && (attempt == 100 || !errors.Is(err, errSwept)) {
			return nil, err
		}
	}
	g.sweep()
	return g, nil
}

// errSwept reports that another process took a group for one of a dead owner, before it was locked.
var errSwept = errors.New("another process has removed the control group")

// makeGroup makes the directory of a group and locks it.
func makeGroup(dir string) (*os.File, error) {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, err
	}
	f, err := hold(dir, unix.LOCK_EX)
	if errors.Is(err, unix.EWOULDBLOCK) || errors.Is(err, fs.ErrNotExist) {
		_ = removeAll(dir) // the other process does the same
		return nil, errSwept
	}
	if err == nil {
		err = unix.FcntlFlock(f.Fd(), unix.F_SETLK, &unix.Flock_t{Type: unix.F_RDLCK})
	}
	if err == nil {
		_, err = os.Stat(filepath.Join(dir, killFile))
	}
	if err == nil {
		return f, nil
	}
	if _, gone := os.Stat(dir); gone != nil { // it was removed before it was locked
		return nil, errors.Join(errSwept, f.Close())
	}
	return nil, errors.Join(err, f.Close(), os.Remove(dir))
}

// ownGroup is the directory of the control group, of version 2, that this process is in.
func ownGroup() (string, error) {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return "", err
	}
	groups, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", err
	}
	return findGroup(string(mounts), string(groups))
}

// findGroup finds the directory in what the kernel says of mounts and of the groups of a process.
func findGroup(mounts, groups string) (string, error) {
	own := ""
	for line := range strings.Lines(groups) {
		if path, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "0::"); ok {
			own = path
		}
	}
	for line := range strings.Lines(mounts) {
		before, after, ok := strings.Cut(line, " - ")
		fields := strings.Fields(before)
		if !ok || !strings.HasPrefix(after, "cgroup2 ") || len(fields) < 5 {
			continue
		}
		rest, below := strings.CutPrefix(own, fields[3]) // the mount may show a part of the tree
		if own != "" && below {
			return filepath.Join(fields[4], rest), nil
		}
	}
	return "", errors.New("no control groups of version 2 are mounted here")
}

// hold opens a directory and locks it; an error if others hold it otherwise.
func hold(dir string, how int) (*os.File, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", dir, err), f.Close())
	}
	return f, nil
}

// sweep ends the programs of groups that nobody holds, beside this one. What cannot be ended is tried again before the
// next program.
func (g *group) sweep() {
	dirs, err := filepath.Glob(filepath.Join(g.own, groupPrefix+"*"))
	if err != nil {
		return
	}
	for _, dir := range dirs {
		if !strings.HasPrefix(filepath.Base(dir), groupPrefix+processName) {
			sweepOne(dir)
		}
	}
}

// sweepOne ends the programs of a group whose owner is dead or dying.
func sweepOne(dir string) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if f := inherit(ctx, dir); f != nil {
		_ = endGroup(ctx, dir)
		_ = f.Close()
	}
}

// inherit locks the group of a dead owner, and waits for one that is dying; nil for one that lives.
func inherit(ctx context.Context, dir string) *os.File {
	f, err := os.Open(dir)
	if err != nil {
		return nil // somebody has removed it
	}
	for unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB) != nil {
		if ownerLives(f) || ctx.Err() != nil {
			_ = f.Close()
			return nil
		}
		time.Sleep(killPause)
	}
	return f
}

// ownerLives reports whether the owner of a group holds its lock of POSIX. One that cannot be asked about is taken for
// alive.
func ownerLives(group *os.File) bool {
	lock := unix.Flock_t{Type: unix.F_WRLCK}
	return unix.FcntlFlock(group.Fd(), unix.F_GETLK, &lock) != nil || lock.Type != unix.F_UNLCK
}

// close gives the group back.
func (g *group) close() error { return errors.Join(removeAll(g.dir), g.file.Close()) }

// leaf is the control group of one program.
type leaf struct {
	dir  string
	file *os.File
}

func (g *group) leaf(name string) (*leaf, error) {
	dir := filepath.Join(g.dir, name)
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, fmt.Errorf("make a control group: %w", err)
	}
	f, err := os.Open(dir)
	if err != nil {
		return nil, errors.Join(err, os.Remove(dir))
	}
	return &leaf{dir, f}, nil
}

// kill ends all processes of the leaf.
func (l *leaf) kill() error { return killGroup(context.Background(), l.dir) }

func (l *leaf) remove() error { return errors.Join(l.file.Close(), removeAll(l.dir)) }

// killGroup ends all processes of a group and those below it, and returns when none is left.
func killGroup(ctx context.Context, dir string) error {
	for {
		populated, err := populated(dir)
		if err != nil || !populated {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, killFile), []byte("1"), 0); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("end the processes of %s: %w", dir, context.Cause(ctx))
		case <-time.After(killPause):
		}
	}
}

func populated(dir string) (bool, error) {
	b, err := os.ReadFile(filepath.Join(dir, "cgroup.events"))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENODEV) {
		return false, nil // it was removed
	}
	return strings.Contains(string(b), "populated 1"), err
}

// endGroup ends all processes of a group and removes it.
func endGroup(ctx context.Context, dir string) error {
	if err := killGroup(ctx, dir); err != nil {
		return err
	}
	_ = removeAll(dir) // nothing runs in it; the next room tries again
	return nil
}

// removeAll removes a group that has no processes, and the groups below it. The kernel may need a moment after the last
// one has ended.
func removeAll(dir string) error {
	below, err := filepath.Glob(filepath.Join(dir, "*", "cgroup.procs"))
	if err != nil {
		return err
	}
	for _, procs := range below {
		if err := removeAll(filepath.Dir(procs)); err != nil {
			return err
		}
	}
	for attempt := 0; ; attempt++ {
		err := os.Remove(dir)
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if attempt == 100 || !errors.Is(err, syscall.EBUSY) {
			return err
		}
		time.Sleep(killPause)
	}
}
