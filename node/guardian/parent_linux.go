package guardian

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
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
	process *os.Process
	pid     int
	over    sync.Once
}

// child is a guardian that runs.
type child struct {
	cmd  *exec.Cmd
	line *line
}

// start starts the same program as a guardian. It is in a session of its own: what a terminal sends to all does not reach it.
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
		Path: "/proc/self/exe", Args: []string{argv0, o.Name}, Env: append(os.Environ(), "GOMAXPROCS=1", "GOMEMLIMIT=off"), ExtraFiles: []*os.File{theirs, pidfd},
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	if err := o.Children.Start(cmd); err != nil {
		l.close()
		_ = l.answers.Close()
		return nil, fmt.Errorf("start the guardian: %w", err)
	}
	l.process, l.pid = cmd.Process, cmd.Process.Pid
	return &child{cmd, l}, nil
}

// wait returns when the child has ended.
func (c *child) wait(by Children) error { return by.Wait(c.cmd) }

// kill ends a child that nobody waits for.
func (c *child) kill(by Children) error {
	_ = c.cmd.Process.Kill()
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
func (l *line) give() { _ = l.process.Kill() }

func (l *line) close() { l.over.Do(func() { _ = l.file.Close() }) }
