package guardian

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"runtime/debug"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rota-run/rota/tasks/program"
)

// Child runs the guardian, if this process was started as one, until its parent has died and all is done, or until it is dismissed; then it returns true,
// and the program should end. It is the first thing that main does.
func Child(open Opener) bool {
	if len(os.Args) == 0 || os.Args[0] != argv0 || !isSocket(lineFD) {
		return false
	}
	signal.Ignore(unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT, unix.SIGPIPE) // what is sent to all of a service is meant for the parent
	debug.SetGCPercent(20)
	_ = os.WriteFile("/proc/self/comm", []byte(argv0), 0) // for lists of processes, which would show how it was started
	w := watch{files: make(map[uint64]int)}
	if !w.untilDead() {
		return true
	}
	ctx, cancel := context.WithTimeout(context.Background(), endWithin)
	defer cancel()
	w.end(ctx, open)
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
	ward
	files map[uint64]int // descriptors that keep sessions alive, by the session's number
}

// untilDead returns true when the parent has died: the pipe is closed and its process has ended. False: the parent needs no guardian any more.
func (w *watch) untilDead() bool {
	said := false
	for w.receive() {
		if !said {
			said = true
			lighten()
			_, _ = unix.Write(lineFD, []byte{1})
		}
	}
	if w.dismissed {
		return false
	}
	return ended(parentFD)
}

// receive takes one message; false when there will be none.
func (w *watch) receive() bool {
	packet, rights := make([]byte, maxMessage), make([]byte, unix.CmsgSpace(4))
	for {
		n, rn, _, _, err := unix.Recvmsg(lineFD, packet, rights, unix.MSG_CMSG_CLOEXEC)
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
		return !w.dismissed
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

// end ends the programs and then the sessions.
func (w *watch) end(ctx context.Context, open Opener) {
	if program.EndAll(ctx, w.programs) != nil {
		return // something of them may be left: the sessions last for their TTL
	}
	for id := range w.files {
		w.drop(id)
	}
	var st Store
	for {
		var err error
		if st == nil {
			st, err = w.open(ctx, open)
		}
		if err == nil && w.endSessions(ctx, st) {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(200 * time.Millisecond):
		}
	}
}

func (w *watch) open(ctx context.Context, open Opener) (Store, error) {
	for id, key := range w.sessions {
		if key == "" { // its file was all
			delete(w.sessions, id)
		}
	}
	if len(w.sessions) == 0 {
		return nil, nil
	}
	return open(ctx, w.place)
}

// endSessions tries all that have not ended; it returns whether none is left.
func (w *watch) endSessions(ctx context.Context, st Store) bool {
	for id, key := range w.sessions {
		if st.EndSession(ctx, key) == nil {
			delete(w.sessions, id)
		}
	}
	return len(w.sessions) == 0
}
