package program

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rota-run/rota/internal/proof/must"
)

// rooms are both kinds of room; the test says so where the machine has no control groups.
func rooms(t *testing.T, test func(t *testing.T, r *Room)) {
	t.Helper()
	for _, o := range []struct {
		name string
		Options
	}{{"groups", Options{}}, {"environment", Options{NoGroup: true}}} {
		t.Run(o.name, func(t *testing.T) {
			test(t, newRoom(t, o.Options))
		})
	}
}

// newRoom closes the room at the end of the test, when no program has a group any more.
func newRoom(t *testing.T, o Options) *Room {
	t.Helper()
	r := NewRoom(o)
	if !o.NoGroup && r.group == nil {
		t.Skip("NOT TESTED: this process may make no control groups of version 2")
	}
	t.Cleanup(func() {
		if left, err := filepath.Glob(filepath.Join(r.Place().Group, r.Place().Mark+"*")); err != nil ||
			r.group != nil && len(left) > 0 {
			t.Errorf("control groups of programs are left: %q, %v", left, err)
		}
		must.Succeed(t, r.Close())
	})
	return r
}

// owner starts a process that owns a room and runs a script in it. It says the room's place.
func owner(t *testing.T, script string, environ ...string) (*exec.Cmd, Place) {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(append(os.Environ(), ownerVariable+"="+script), environ...)
	out := must.Get(cmd.StdoutPipe())(t)
	must.Succeed(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	line := must.Get(bufio.NewReader(out).ReadString('\n'))(t)
	mark, dir, _ := strings.Cut(strings.TrimSpace(line), " ")
	return cmd, Place{Mark: mark, Group: dir}
}

// pipe is a named pipe that programs write process numbers to.
type pipe struct {
	path string
	r    *bufio.Reader
}

func newPipe(t *testing.T) *pipe {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pids")
	must.Succeed(t, unix.Mkfifo(path, 0o600))
	f, err := os.OpenFile(path, os.O_RDWR, 0) // also for writing: so that opening it waits for nobody
	must.Succeed(t, err)
	t.Cleanup(func() { _ = f.Close() })
	return &pipe{path, bufio.NewReader(f)}
}

// next is a descriptor of the next process that says its number.
func (p *pipe) next(t *testing.T) int {
	t.Helper()
	line := must.Get(p.r.ReadString('\n'))(t)
	pid := must.Get(strconv.Atoi(strings.TrimSpace(line)))(t)
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		t.Fatalf("process %d: %v", pid, err)
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	return fd
}

// alive reports whether a process has not ended.
func alive(t *testing.T, fd int) bool {
	t.Helper()
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		must.Succeed(t, err)
		return n == 0
	}
}

// escapes are the ways in which a script leaves processes. Each writes as many numbers as it leaves.
var escapes = []struct {
	name, script string
	count        int
	marked       bool // also found without a control group
}{
	{"fork", `sleep 1000 & echo $! >PIPE`, 1, true},
	{"double fork", `(sleep 1000 & echo $! >PIPE)`, 1, true},
	{"session", `setsid sh -c 'echo $$ >PIPE; exec sleep 1000' &`, 1, true},
	{"session and double fork", `(setsid sh -c 'echo $$ >PIPE; sleep 1000 & echo $! >PIPE; wait' &)`, 2, true},
	{"cleared environment, below one that has it",
		`(setsid sh -c 'env -i sh -c "echo \$\$ >PIPE; exec sleep 1000" & echo $! >/dev/null; wait' &)`, 1, true},
	{"deaf to signals", `(trap "" TERM HUP INT; setsid sh -c 'trap "" TERM; echo $$ >PIPE; while :; do sleep 1; done' &)`, 1, true},
	{"the name of a zombie", `d=$(dirname PIPE); cp /bin/sleep "$d/x) Z 1"; "$d/x) Z 1" 1000 & echo $! >PIPE`, 1, true},
	{"a group below", `for m in /sys/fs/cgroup /sys/fs/cgroup/unified; do g=$m$(sed -n s/^0:://p /proc/self/cgroup)
		case $g in */rota-*) [ -d $g ] && mkdir $g/below; esac; done; sleep 1000 & echo $! >PIPE`, 1, true},
	{"cleared environment, in the program's process group", `(env -i sh -c 'echo $$ >PIPE; exec sleep 1000' &)`, 1, false},
	{"cleared environment and double fork", `(setsid env -i sh -c 'echo $$ >PIPE; exec sleep 1000' &)`, 1, false},
}

// No process that a program has started is left when Run returns: neither where the program ended by itself, nor where
// it was stopped.
func TestNothingIsLeft(t *testing.T) {
	rooms(t, func(t *testing.T, r *Room) {
		for _, e := range escapes {
			if r.group == nil && !e.marked && strings.Contains(e.script, "setsid") {
				continue // docs/guarantees.md
			}
			for _, stopped := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, stopped %t", e.name, stopped), func(t *testing.T) {
					p := newPipe(t)
					script := strings.ReplaceAll(e.script, "PIPE", p.path)
					if stopped {
						script += "\nsleep 1000"
					} else {
						script += "\nread go" // until all have said their numbers
					}
					ctx, stop := context.WithCancel(t.Context())
					defer stop()
					begun, begin := gate(t)
					ended := make(chan error, 1)
					go func() {
						_, err := r.Run(ctx, Command{
							Argv: []string{"/bin/sh", "-c", strings.Replace(script, "read go", "read go <"+begun, 1)},
							Env:  []string{"PATH=" + os.Getenv("PATH")}, Dir: "/",
							Grace: 20 * time.Millisecond,
						})
						ended <- err
					}()
					var left []int
					for range e.count {
						left = append(left, p.next(t))
					}
					if stopped {
						stop()
					} else {
						begin()
					}
					must.Succeed(t, <-ended)
					for _, fd := range left {
						if !e.marked { // it was killed by its group, whose end nobody awaits
							_, _ = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 5000)
						}
					}
					if slices.ContainsFunc(left, func(fd int) bool { return alive(t, fd) }) {
						t.Error("a process is left")
					}
				})
			}
		}
	})
}

// gate is a file that a script waits for, and what lets it go on.
func gate(t *testing.T) (path string, open func()) {
	t.Helper()
	p := newPipe(t)
	f := must.Get(os.OpenFile(p.path, os.O_RDWR, 0))(t)
	t.Cleanup(func() { _ = f.Close() })
	return p.path, func() {
		must.Succeed(t, must.Err(f.WriteString("go\n")))
	}
}

// Two programs of one room: the end of one leaves the other alone.
func TestEndsItsOwnOnly(t *testing.T) {
	rooms(t, func(t *testing.T, r *Room) {
		p := newPipe(t)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			_, err := r.Run(ctx, Command{Argv: []string{"/bin/sh", "-c", "setsid sh -c 'echo $$ >" + p.path +
				"; exec sleep 1000' & wait"}, Env: []string{"PATH=" + os.Getenv("PATH")}, Dir: "/"})
			ended <- err
		}()
		other := p.next(t)
		if _, err := r.Run(t.Context(), Command{Argv: []string{"/no/such/program"}, Dir: "/"}); !errors.Is(err,
			os.ErrNotExist) {
			t.Errorf("a program that is not there: %v", err)
		}
		must.Succeed(t, must.Err(r.Run(t.Context(), Command{Argv: []string{"/bin/sh", "-c", "sleep 1000 &"},
			Env: []string{"PATH=" + os.Getenv("PATH")}, Dir: "/"})))
		if !alive(t, other) {
			t.Error("the end of one program ended what another one has started")
		}
		stop()
		must.Succeed(t, <-ended)
		if alive(t, other) {
			t.Error("a process is left")
		}
	})
}

// ownerVariable makes this test's program the owner of a room, whose programs it starts and never ends.
const ownerVariable = "PROGRAM_TEST_OWNER"

// roomsVariable makes it make so many rooms.
const roomsVariable = "PROGRAM_TEST_ROOMS"

// orphansVariable makes it adopt what programs leave.
const orphansVariable = "PROGRAM_TEST_ORPHANS"

func TestMain(m *testing.M) {
	if script := os.Getenv(ownerVariable); script != "" {
		own(script)
		return
	}
	if count := os.Getenv(roomsVariable); count != "" {
		os.Exit(makeRooms(count))
	}
	if os.Getenv(orphansVariable) != "" {
		if wrong := adopt(); wrong != "" {
			fmt.Fprintln(os.Stderr, wrong)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func own(script string) {
	r := NewRoom(Options{NoGroup: os.Getenv("PROGRAM_TEST_NO_GROUP") != "", Adopt: true})
	fmt.Fprintln(os.Stdout, r.Place().Mark, r.Place().Group)
	_, err := r.Run(context.Background(), Command{Argv: []string{"/bin/sh", "-c", script + "\nsleep 1000"},
		Env: []string{"PATH=" + os.Getenv("PATH")}, Dir: "/"})
	fmt.Fprintln(os.Stdout, err)
}

// The owner is killed. What its programs have started is ended by who knows the place, and that alone.
func TestEndAll(t *testing.T) {
	for _, grouped := range []bool{true, false} {
		for _, e := range escapes {
			t.Run(fmt.Sprintf("%s, group %t", e.name, grouped), func(t *testing.T) {
				if !grouped && !e.marked {
					t.Skip("what the platform cannot do: docs/guarantees.md")
				}
				p := newPipe(t)
				var apart []string
				if !grouped {
					apart = []string{"PROGRAM_TEST_NO_GROUP=1"}
				}
				cmd, place := owner(t, strings.ReplaceAll(e.script, "PIPE", p.path), apart...)
				if grouped && place.Group == "" {
					t.Skip("NOT TESTED: this process may make no control groups of version 2")
				}
				var left []int
				for range e.count {
					left = append(left, p.next(t))
				}
				must.Succeed(t, cmd.Process.Kill())
				must.Succeed(t, must.Err(cmd.Process.Wait()))
				if !slices.ContainsFunc(left, func(fd int) bool { return alive(t, fd) }) {
					t.Fatal("nothing is left that could be ended: the test shows nothing")
				}
				must.Succeed(t, EndAll(t.Context(), Place{Mark: "another" + place.Mark}))
				if !slices.ContainsFunc(left, func(fd int) bool { return alive(t, fd) }) {
					t.Fatal("another room's programs were ended")
				}
				must.Succeed(t, EndAll(t.Context(), place))
				if slices.ContainsFunc(left, func(fd int) bool { return alive(t, fd) }) {
					t.Error("a process is left")
				}
				if _, err := os.Stat(place.Group); grouped && err == nil {
					t.Errorf("the control group %s is left", place.Group)
				}
			})
		}
	}
}

func TestFindGroup(t *testing.T) {
	t.Parallel()
	const v2 = "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n"
	for _, c := range []struct{ name, mounts, groups, want string }{
		{"version 2", v2, "0::/system.slice/rota.service\n", "/sys/fs/cgroup/system.slice/rota.service"},
		{"root", v2, "0::/\n", "/sys/fs/cgroup"},
		{"both versions", "31 23 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n40 23 0:30 / /sys/fs/cgroup/unified rw shared:3 - cgroup2 none rw\n", "1:cpu:/x\n0::/y\n", "/sys/fs/cgroup/unified/y"},
		{"a part of the tree", "30 23 0:26 /docker/abc /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
			"0::/docker/abc/sub\n", "/sys/fs/cgroup/sub"},
		{"another part", "30 23 0:26 /docker/abc /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n", "0::/docker/xyz\n", ""},
		{"version 1 alone", "31 23 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n", "1:cpu:/x\n", ""},
		{"nothing", "", "", ""},
	} {
		got, err := findGroup(c.mounts, c.groups)
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s: got %q, %v, want %q", c.name, got, err, c.want)
		}
	}
}

// An owner died and nobody ended what its programs have left: the next program of another room begins after that has
// ended.
func TestWhatADeadOwnerHasLeftEndsFirst(t *testing.T) {
	r := newRoom(t, Options{})
	p := newPipe(t)
	cmd, place := owner(t, "(setsid env -i sh -c 'echo $$ >"+p.path+"; exec sleep 1000' &)")
	left := p.next(t)
	must.Succeed(t, must.Err(r.Run(t.Context(), Command{Argv: []string{"/bin/true"}, Dir: "/"})))
	if !alive(t, left) {
		t.Fatal("the program of a live owner was ended")
	}
	must.Succeed(t, cmd.Process.Kill())
	_ = cmd.Wait() // it was killed
	// Another process has just begun to do the same.
	other := must.Get(hold(place.Group, unix.LOCK_SH))(t)
	defer other.Close()
	must.Succeed(t, must.Err(r.Run(t.Context(), Command{Argv: []string{"/bin/true"}, Dir: "/"})))
	if alive(t, left) {
		t.Error("a process of a dead owner is left")
	}
}

// An owner is dying: another lock of it, by which others see that it is dead, is free already, and that of its group is
// not yet. They wait for that.
func TestADyingOwnersGroup(t *testing.T) {
	r := newRoom(t, Options{})
	dying := filepath.Join(r.group.own, groupPrefix+"dying"+r.place.Mark)
	must.Succeed(t, os.Mkdir(dying, 0o755))
	flock, err := hold(dying, unix.LOCK_EX) // what is left of its locks
	must.Succeed(t, err)
	cmd := exec.Command("/bin/sleep", "1000")
	cmd.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(flock.Fd())}
	must.Succeed(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	left := make(chan error, 1)
	go func() { left <- cmd.Wait() }()
	swept := make(chan struct{})
	go func() {
		defer close(swept)
		r.group.sweep()
	}()
	select {
	case <-swept:
		t.Fatal("somebody's programs may begin while a dying owner's are alive")
	case <-time.After(50 * time.Millisecond): // waits: it goes on waiting
	}
	must.Succeed(t, flock.Close())
	<-swept
	if err := <-left; err == nil {
		t.Error("a dying owner's program was not ended")
	}
	if _, err := os.Stat(dying); err == nil {
		t.Error("its control group is left")
	}
}

// Processes that make rooms at the same moment do not take each other's groups for those of dead owners.
func TestRoomsAtOnce(t *testing.T) {
	if r := NewRoom(Options{}); r.group == nil {
		t.Skip("NOT TESTED: this process may make no control groups of version 2")
	} else if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			cmd := exec.Command("/proc/self/exe")
			cmd.Env = append(os.Environ(), roomsVariable+"=50")
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	all.Wait()
}

// makeRooms makes rooms and closes them. It returns an exit code.
func makeRooms(count string) int {
	n, err := strconv.Atoi(count)
	if err != nil {
		panic(err)
	}
	for i := range n {
		r := NewRoom(Options{})
		if r.group == nil {
			fmt.Fprintf(os.Stderr, "room %d has no group\n", i)
			return 1
		}
		if err := r.Close(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return 0
}
