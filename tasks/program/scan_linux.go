package program

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// endMarked kills the processes with a mark and their descendants, until a look finds none.
func endMarked(ctx context.Context, mark string) error {
	for {
		c := catch{mark: mark, held: make(map[int]int)}
		err := errors.Join(c.all(), c.kill(ctx))
		if err != nil || len(c.held) == 0 {
			return err
		}
	}
}

// catch are processes that are about to be killed. They are suspended first, so that none of them starts another one
// while the rest is looked for: a descendant without the mark cannot be found any more once those above it have ended.
type catch struct {
	mark string
	held map[int]int // a descriptor by number
}

// all suspends all that there are, until a look finds no other one.
func (c *catch) all() error {
	for patience := 100; ; {
		now, err := processes()
		if err != nil {
			return err
		}
		grown, unclear := false, false
		for _, p := range withDescendants(now, func(p process) bool {
			marks, doubt := p.marked(c.mark)
			unclear = unclear || doubt
			return marks
		}) {
			if _, ok := c.held[p.pid]; !ok && c.hold(p) {
				grown = true
			}
		}
		switch {
		case grown:
		case !unclear || patience == 0:
			return nil
		default:
			patience--
			time.Sleep(time.Millisecond)
		}
	}
}

// kthreadd is the parent of the kernel's own threads.
const kthreadd = 2

// hold suspends a process. It holds it by a descriptor and looks again, since numbers are used again.
func (c *catch) hold(p process) bool {
	fd, err := unix.PidfdOpen(p.pid, 0)
	if err != nil {
		return false // it has ended
	}
	now, ok := look(p.pid)
	if !ok || now.parent != p.parent && !p.still(c.mark) {
		_ = unix.Close(fd)
		return false
	}
	c.held[p.pid] = fd
	_ = unix.PidfdSendSignal(fd, unix.SIGSTOP, nil, 0)
	return true
}

// kill kills all and waits for their ends: the next look would not find all of those that are still ending.
func (c *catch) kill(ctx context.Context) error {
	for _, fd := range c.held {
		_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0) // suspended or not
	}
	var err error
	for _, fd := range c.held {
		err = errors.Join(err, awaitEnd(ctx, fd), unix.Close(fd))
	}
	return err
}

func awaitEnd(ctx context.Context, fd int) error {
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 100) //nolint:gosec // descriptors are small
		switch {
		case err != nil && !errors.Is(err, unix.EINTR):
			return fmt.Errorf("wait for the end of a process: %w", err)
		case n > 0:
			return nil
		case ctx.Err() != nil:
			return fmt.Errorf("end what programs have left: %w", context.Cause(ctx))
		}
	}
}

// process is one that lives.
type process struct{ pid, parent int }

// processes are all that live, as far as this process may look at them.
func processes() ([]process, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	var all []process
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil || pid == os.Getpid() {
			continue
		}
		if p, ok := look(pid); ok {
			all = append(all, p)
		}
	}
	return all, nil
}

// look reads the parent of a process; false for one that has ended, or is a zombie.
func look(pid int) (process, bool) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return process{}, false
	}
	name := bytes.LastIndexByte(stat, ')') // it may hold anything
	fields := strings.Fields(string(stat[name+1:]))
	if name < 0 || len(fields) < 2 || fields[0] == "Z" || fields[0] == "X" {
		return process{}, false
	}
	parent, err := strconv.Atoi(fields[1])
	return process{pid, parent}, err == nil
}

// marked reports whether a process has the mark. unclear: it is just replacing its program, or ending: for that moment
// it has neither arguments nor environment, and cannot be told from others. An environment that is empty beside
// arguments was read before the new program's was there, or is empty for good.
func (p process) marked(mark string) (marks, unclear bool) {
	if p.pid == kthreadd || p.parent == kthreadd {
		return false, false
	}
	proc := "/proc/" + strconv.Itoa(p.pid)
	for range 2 {
		environ, err := os.ReadFile(proc + "/environ")
		if err != nil || len(environ) > 0 {
			return err == nil && marked(string(environ), mark), errors.Is(err, unix.ESRCH)
		}
		args, err := os.ReadFile(proc + "/cmdline")
		if err != nil || len(args) == 0 {
			return false, (err == nil || errors.Is(err, unix.ESRCH)) && p.parent != 0
		}
	}
	return false, false
}

// still is marked for one that had the mark a moment ago.
func (p process) still(mark string) bool {
	marks, unclear := p.marked(mark)
	for patience := 100; unclear && patience > 0; patience-- {
		time.Sleep(time.Millisecond)
		marks, unclear = p.marked(mark)
	}
	return marks
}

// withDescendants are the processes that are meant and what descends from them. This process is never among them.
func withDescendants(all []process, meant func(process) bool) []process {
	in := make(map[int]bool)
	var out []process
	for _, p := range all {
		if meant(p) {
			in[p.pid] = true
			out = append(out, p)
		}
	}
	for grown := len(out) > 0; grown; {
		grown = false
		for _, p := range all {
			if in[p.parent] && !in[p.pid] {
				in[p.pid], grown = true, true
				out = append(out, p)
			}
		}
	}
	return out
}

// children are the children of this process, also those that have ended.
func children() ([]int, error) {
	paths, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil || len(paths) == 0 {
		return nil, errors.Join(err, errors.New("the kernel does not list children"))
	}
	var pids []int
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ESRCH) {
			continue // the thread has ended
		}
		if err != nil {
			return nil, err
		}
		for f := range strings.FieldsSeq(string(b)) {
			pid, err := strconv.Atoi(f)
			if err != nil {
				return nil, err
			}
			pids = append(pids, pid)
		}
	}
	return pids, nil
}
