package guardian

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// argv0 is the name under which the program is a guardian, and what lists of processes show.
const argv0 = "rota-guardian"

// The descriptors of the child.
const (
	lineFD   = 3
	parentFD = 4
)

// line is the parent's end of the pipe: a pair of sockets, over which files can be handed.
type line struct {
	file    *os.File
	answers *os.File // a copy, for the goroutine that reads
	kill    func()   // the child
	pid     int
	over    sync.Once
}

// child is a guardian that runs.
type child struct {
	cmd  *exec.Cmd
	line *line
}

// start starts the same program as a guardian. It is in a session of its own: what a terminal sends to all does not
// reach it.
func start(o Options) (*child, error) {
	parent, err := unix.PidfdOpen(os.Getpid(), 0)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnsupported, os.NewSyscallError("pidfd_open", err))
	}
	pidfd := os.NewFile(uintptr(parent), "parent")
	defer pidfd.Close()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("socketpair", err)
	}
	theirs := os.NewFile(uintptr(pair[1]), "guardian")
	defer theirs.Close()
	l := &line{file: os.NewFile(uintptr(pair[0]), "guardian")}
	answers, err := unix.FcntlInt(l.file.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		l.close()
		return nil, os.NewSyscallError("fcntl", err)
	}
	l.answers = os.NewFile(uintptr(answers), "guardian")
	cmd := &exec.Cmd{
		Path: "/proc/self/exe", Args: []string{argv0, o.Name},
		Env: append(os.Environ(), "GOMAXPROCS=1", "GOMEMLIMIT=off"), ExtraFiles: []*os.File{theirs, pidfd},
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	if err := o.Children.Start(cmd); err != nil {
		l.close()
		_ = l.answers.Close()
		return nil, fmt.Errorf("start the guardian: %w", err)
	}
	l.kill, l.pid = func() { _ = cmd.Process.Kill() }, cmd.Process.Pid
	return &child{cmd, l}, nil
}

// wait returns when the child has ended.
func (c *child) wait(by Children) error { return by.Wait(c.cmd) }

// kill ends a child that nobody waits for.
func (c *child) kill(by Children) error {
	c.line.kill()
	return by.Wait(c.cmd)
}

// send sends one message, with a file where there is one, and does not wait for room.
func (l *line) send(m message, file *os.File) error {
	b, err := m.encode()
	if err != nil {
		return err
	}
	var rights []byte
	if file != nil {
		rights = unix.UnixRights(int(file.Fd()))
	}
	if err := unix.Sendmsg(int(l.file.Fd()), b, rights, nil, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL); err != nil {
		return os.NewSyscallError("sendmsg", err)
	}
	return nil
}

// ready waits for the child's only message; false if it has ended instead.
func (l *line) ready() bool {
	defer l.answers.Close()
	var b [1]byte
	for {
		n, err := unix.Read(int(l.answers.Fd()), b[:])
		if !errors.Is(err, unix.EINTR) {
			return err == nil && n == 1
		}
	}
}

// give gives up a child that takes no messages.
func (l *line) give() { l.kill() }

func (l *line) close() { l.over.Do(func() { _ = l.file.Close() }) }

// lighten gives memory back that a guardian does not need while it waits. The program has read much of its own file
// while it started: those pages are dropped, and are read again, from the cache of the system, where they are needed.
func lighten() {
	debug.FreeOSMemory()
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		return
	}
	defer f.Close()
	var m mapping
	for lines := bufio.NewScanner(f); lines.Scan(); {
		m = m.next(lines.Text())
		if m.clean() {
			drop(m.from, m.to)
		}
	}
}

// mapping is a part of the memory, as far as its lines have been read.
type mapping struct {
	from, to uintptr
	rights   string
	file     bool
	unshared bool // "Anonymous" was read, and it is 0: none of its pages differs from the file
}

func (m mapping) next(line string) mapping {
	fields := strings.Fields(line)
	if len(fields) == 0 {
		return m
	}
	if !strings.HasSuffix(fields[0], ":") {
		from, to, _ := strings.Cut(fields[0], "-")
		a, err1 := strconv.ParseUint(from, 16, 64)
		b, err2 := strconv.ParseUint(to, 16, 64)
		if err1 != nil || err2 != nil || len(fields) < 6 {
			return mapping{}
		}
		return mapping{from: uintptr(a), to: uintptr(b), rights: fields[1], file: strings.HasPrefix(fields[5], "/")}
	}
	m.unshared = fields[0] == "Anonymous:" && len(fields) > 1 && fields[1] == "0"
	return m
}

// clean tells whether the pages of a mapping can be read again from its file.
func (m mapping) clean() bool {
	return m.file && m.unshared && strings.HasPrefix(m.rights, "r") && !strings.Contains(m.rights, "w")
}

func drop(from, to uintptr) {
	_, _, _ = unix.Syscall(unix.SYS_MADVISE, from, to-from, unix.MADV_DONTNEED) // what it refuses stays
}
