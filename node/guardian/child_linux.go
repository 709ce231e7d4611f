package guardian

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"runtime/debug"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rota-run/rota/internal/node/guarding"
	"github.com/rota-run/rota/tasks/program"
)

// Supported tells whether a process can have a guardian on this system.
const Supported = true

// Child runs the guardian, if this process was started as one, until its parent has died and all is done, or until it
// is dismissed; then it returns true, and the program should end. It is the first thing that main does.
func Child(open Opener) bool {
	if len(os.Args) == 0 || os.Args[0] != argv0 || !isSocket(lineFD) {
		return false
	}
	signal.Ignore(unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT, unix.SIGPIPE) // what is sent to all of a service is meant for the parent
	debug.SetGCPercent(20)
	_ = os.WriteFile("/proc/self/comm", []byte(argv0), 0) // for lists of processes, which would show how it was started
	w := watch{line: lineFD, files: make(map[uint64]int)}
	w.run(open)
	return true
}

// endWithin is for how long a store is tried.
const endWithin = time.Minute

func isSocket(fd int) bool {
	var s unix.Stat_t
	return unix.Fstat(fd, &s) == nil && s.Mode&unix.S_IFMT == unix.S_IFSOCK
}

// watch is the child's state.
type watch struct {
	charge
	line  int            // the descriptor
	said  bool           // the parent knows that it is watched
	files map[uint64]int // descriptors that keep sessions alive, by the session's number
}

// run does what package guarding decides, until nothing is left to do. A store is tried for endWithin after the
// parent's death.
func (w *watch) run(open Opener) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var st Store
	var died time.Time
	for {
		switch w.Next() {
		case guarding.Listen:
			if w.receive() {
				w.greet()
			} else {
				w.State = w.LineClosed()
			}
		case guarding.Watch:
			if !ended(parentFD) {
				return // it cannot be known
			}
			w.State, died = w.ParentEnded(), time.Now()
			time.AfterFunc(endWithin, cancel)
		case guarding.EndPrograms:
			w.programsEnded(program.EndAll(ctx, w.programs) == nil)
		case guarding.EndSessions:
			if st == nil {
				st, _ = open(ctx, w.place) // it is tried again
			}
			if !w.endSessions(ctx, st) {
				return
			}
		case guarding.Hold:
			<-time.After(time.Until(died.Add(w.hold))) // its lease may last as long, and the program with it
			return
		case guarding.Over:
			return
		}
	}
}

// greet lets the parent know, once, that it is watched. Each message needs more of the program's file, and there are
// few of them.
func (w *watch) greet() {
	lighten()
	if !w.said {
		w.said = true
		_, _ = unix.Write(w.line, []byte{1})
	}
}

// receive takes one message; false when there will be none.
func (w *watch) receive() bool {
	packet, rights := make([]byte, maxMessage), make([]byte, unix.CmsgSpace(4))
	for {
		n, rn, _, _, err := unix.Recvmsg(w.line, packet, rights, unix.MSG_CMSG_CLOEXEC)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || n == 0 {
			return false
		}
		guard, release := w.take(packet[:n])
		if fd, ok := received(rights[:rn]); ok {
			w.drop(guard)
			w.files[guard] = fd
		}
		w.drop(release)
		return true
	}
}

func (w *watch) drop(id uint64) {
	if fd, ok := w.files[id]; ok {
		_ = unix.Close(fd)
		delete(w.files, id)
	}
}

// received is the descriptor that came with a message.
func received(rights []byte) (int, bool) {
	all, err := unix.ParseSocketControlMessage(rights)
	if err != nil || len(all) == 0 {
		return 0, false
	}
	fds, err := unix.ParseUnixRights(&all[0])
	if err != nil || len(fds) == 0 {
		return 0, false
	}
	return fds[0], true
}

// ended waits until a process has ended, all its threads; false if that cannot be known.
func ended(pidfd int) bool {
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}, -1) //nolint:gosec // a small constant
		if errors.Is(err, unix.EINTR) {
			continue
		}
		return err == nil && n == 1
	}
}

// programsEnded ends the sessions that last for as long as their files are open, unless a program may be left.
func (w *watch) programsEnded(all bool) {
	w.State = w.ProgramsEnded(all)
	if w.Next() == guarding.Hold {
		return
	}
	for _, h := range w.Sessions() {
		w.drop(h.ID)
		if h.Key == "" { // its file was all
			w.State = w.State.Release(h.ID)
		}
	}
}

// endSessions tries all that have not ended, and waits before the next try; false when the time is over.
func (w *watch) endSessions(ctx context.Context, st Store) bool {
	if st != nil {
		for _, h := range w.Sessions() {
			if st.EndSession(ctx, h.Key) == nil {
				w.State = w.State.Release(h.ID)
			}
		}
	}
	if len(w.Sessions()) == 0 {
		return true
	}
	select {
	case <-ctx.Done():
		return false
	case <-time.After(200 * time.Millisecond):
		return true
	}
}
