package guardian

import (
	"context"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rota-run/rota/internal/node/guarding"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/store"
)

// pipe is a file that stays open until it is dropped, and its other end.
func pipe(t *testing.T) (kept, other *os.File) {
	t.Helper()
	other, kept, err := os.Pipe()
	must.Succeed(t, err)
	t.Cleanup(func() { kept.Close(); other.Close() })
	return kept, other
}

// open tells whether somebody holds the writing end of a pipe.
func open(t *testing.T, reads *os.File) bool {
	t.Helper()
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(reads.Fd())}}, 0) //nolint:gosec // a descriptor
	must.Succeed(t, err)
	return n == 0 // else it says that the other end hung up
}

// pair is a parent's line to a child that is in this process.
func pair(t *testing.T) (parent *line, child *watch) {
	t.Helper()
	fds := must.Get(unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0))(t)
	must.Succeed(t, unix.SetsockoptTimeval(fds[1], unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 10})) // then none comes
	parent = &line{file: os.NewFile(uintptr(fds[0]), "parent")}
	t.Cleanup(func() { parent.close(); _ = unix.Close(fds[1]) })
	return parent, &watch{line: fds[1], files: make(map[uint64]int)}
}

// TestWhatAChildKeeps: a session's file stays open while the session is guarded, and until programs have ended that
// may go on with it.
// It runs alone: a process that another test starts has the files of this one open between its fork and its exec.
func TestWhatAChildKeeps(t *testing.T) {
	parent, child := pair(t)
	var ends []*os.File
	for id := range uint64(3) {
		kept, other := pipe(t)
		ends = append(ends, other)
		must.Succeed(t, parent.send(message{Guard: id + 1, Key: []string{"", "key", ""}[id]}, kept))
		if !child.receive() {
			t.Fatal("the line is closed")
		}
		must.Succeed(t, kept.Close())
	}
	held := func(want ...bool) {
		t.Helper()
		for i, end := range ends {
			if got := open(t, end); got != want[i] {
				t.Errorf("the file of session %d is open: %t", i+1, got)
			}
		}
	}
	held(true, true, true)
	must.Succeed(t, parent.send(message{Release: 1}, nil))
	child.receive()
	held(false, true, true)
	parent.close()
	if child.receive() {
		t.Error("a message on a line that is closed")
	}
	child.State = child.LineClosed().ParentEnded()
	for _, left := range []bool{true, false} {
		child.programsEnded(!left)
		held(false, left, left)
	}
	if got := child.Sessions(); len(got) != 1 || got[0].Key != "key" {
		t.Errorf("sessions to end: %v", got)
	}
}

// TestAWaitThatIsInterrupted: a signal says nothing of the process that is waited for.
func TestAWaitThatIsInterrupted(t *testing.T) {
	t.Parallel()
	writes, reads := pipe(t)
	thread, over := make(chan int, 1), make(chan bool, 1)
	var wrote atomic.Bool
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		thread <- unix.Gettid()
		fd := int(reads.Fd())
		over <- ended(fd) && wrote.Load()
	}()
	id := <-thread
	for range 20 {
		must.Succeed(t, unix.Tgkill(os.Getpid(), id, unix.SIGURG)) // the runtime's own signal
		time.Sleep(time.Millisecond)                               // waits: until it is in the call, as a rule
	}
	wrote.Store(true)
	_, err := writes.Write([]byte{1})
	must.Succeed(t, err)
	if !<-over {
		t.Error("a signal has ended the wait")
	}
}

// TestWhatAParentTells: how long the lease of a slow member lasts. A child that takes no message is given up.
func TestWhatAParentTells(t *testing.T) {
	t.Parallel()
	parent, child := pair(t)
	g := newGuardian(Options{Place: "there"})
	must.Succeed(t, g.tellAll(parent))
	if child.receive(); child.hold != 8*10*time.Second {
		t.Errorf("a child holds a session for %s", child.hold)
	}
	given := false
	g.line, parent.kill = parent, func() { given = true }
	for range 10_000 { // nobody takes them
		if g.Guard(store.EndKey{Text: "more"}); given {
			return
		}
	}
	t.Error("a child that takes no message is kept")
}

// TestWhoCloses: a child is dismissed, unless it still guards a session: then it goes on, and nobody waits for it.
func TestWhoCloses(t *testing.T) {
	t.Parallel()
	for left, want := range map[bool]guarding.Duty{false: guarding.Over, true: guarding.Watch} { // order-free: each has a child of its own
		parent, child := pair(t)
		g := newGuardian(Options{})
		g.line = parent
		ended := make(chan struct{})
		g.wg.Go(func() { <-ended })
		if g.Guard(store.EndKey{Text: "a"}); !left {
			g.Release(store.EndKey{Text: "a"})
			close(ended)
		}
		closed := make(chan struct{})
		go func() { defer close(closed); g.Close() }()
		select {
		case <-closed:
		case <-time.After(10 * time.Second):
			t.Errorf("a session is left %t: Close waits for the child", left)
		}
		for child.Next() == guarding.Listen {
			if !child.receive() {
				child.State = child.LineClosed()
			}
		}
		if got := child.Next(); got != want {
			t.Errorf("a session is left %t: the child does %v, want %v", left, got, want)
		}
		if left {
			close(ended)
		}
		g.Close() // a second time does nothing
		if g.lost(nil); g.State() != "lost" {
			t.Errorf("without a child it is %s", g.State())
		}
	}
}

// TestAChildAndItsDescriptors: what a terminal sends to all does not reach a child. One that has ended is not ready.
// Neither that nor one that could not be started leaves a descriptor here.
// It runs alone: it counts them.
func TestAChildAndItsDescriptors(t *testing.T) {
	open := func() int { return len(must.Get(os.ReadDir("/proc/self/fd"))(t)) }
	before, children := open(), &few{}
	for begun := range 3 {
		o := Options{Name: "test", Place: t.TempDir(), Children: children}
		c, err := start(o)
		switch begun {
		case 0:
			must.Succeed(t, err)
			must.Succeed(t, newGuardian(o).tellAll(c.line))
			if session, err := unix.Getsid(c.line.pid); session != c.line.pid || err != nil || !c.line.ready() {
				t.Errorf("it is in session %d, or not ready: %v", session, err)
			}
		case 1: // few starts no second one
			continue
		}
		_ = c.kill(children) // it says that it was killed
		if begun == 2 && c.line.ready() {
			t.Error("a child that has ended is ready")
		}
		c.line.close()
	}
	if after := open(); after > before || children.left.Load() != 0 {
		t.Errorf("%d descriptors were open, now %d; %d children are left", before, after, children.left.Load())
	}
}

// TestWhatIsDropped: the pages that can be read again, and no others.
func TestWhatIsDropped(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"1000-2000 r-xp 0 fd:01 1 /bin/rota": false, "1000-2000 r-xp 0 fd:01 1 /bin/rota\nAnonymous: 0 kB": true,
		"1000-2000 r--p 0 fd:01 1 /bin/rota\nRss: 4 kB\nAnonymous: 4 kB": false,
		"1000-2000 rw-p 0 fd:01 1 /bin/rota\nAnonymous: 0 kB":            false,
		"1000-2000 r--p 0 00:00 0 [vdso]\nAnonymous: 0 kB":               false,
		"1000-2000 ---p 0 fd:01 1 /bin/rota\nAnonymous: 0 kB":            false,
	} {
		var m mapping
		for line := range strings.SplitSeq(text, "\n") {
			m = m.next(line)
		}
		if got := m.clean() && m.from == 0x1000 && m.to == 0x2000; got != want {
			t.Errorf("%q: %t", text, got)
		}
	}
}

// TestTheTimeIsOver: a store that does not answer is not tried for ever.
func TestTheTimeIsOver(t *testing.T) {
	t.Parallel()
	w := &watch{}
	w.State = w.Guard(guarding.Held[string]{ID: 1, Key: "a"})
	over, stop := context.WithCancel(t.Context())
	stop()
	if w.endSessions(over, nil) {
		t.Error("it is tried again")
	}
}
