package program

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rota-run/rota/internal/proof/must"
)

func sh(script string) Command {
	return Command{Argv: []string{"/bin/sh", "-c", script}, Env: []string{"PATH=" + os.Getenv("PATH")}, Dir: "/",
		Grace: 20 * time.Second}
}

// TestAProgramIsStopped: it has its grace, and no more of it than it takes; what it has started has it, too.
func TestAProgramIsStopped(t *testing.T) {
	rooms(t, func(t *testing.T, r *Room) {
		const forEver = "echo $$ >PIPE; while :; do sleep 0.01; done"
		for script, want := range map[string]End{"trap 'sleep 0.1; exit 7' TERM; " + forEver: {Code: 7}, // order-free: each by itself
			"trap '' TERM; " + forEver: {Code: -1, Signal: "SIGKILL"},
			"trap : TERM; sh -c 'trap \"exit 8\" TERM; " + forEver + "' & wait $!; wait $!; exit $?": {Code: 8}} {
			p := newPipe(t)
			c := sh(strings.ReplaceAll(script, "PIPE", p.path))
			if want.Code < 0 {
				c.Grace = 20 * time.Millisecond
			}
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan End, 1)
			go func() { e, _ := r.Run(ctx, c); ended <- e }()
			p.next(t)
			began := time.Now()
			stop()
			if got := <-ended; got != want || time.Since(began) > 10*time.Second {
				t.Errorf("%q: %+v after %s, want %+v", script, got, time.Since(began), want)
			}
		}
	})
}

// TestOutputThatOthersHold: it is not waited for, and what the program has said is there.
func TestOutputThatOthersHold(t *testing.T) {
	r, p, out := newRoom(t, Options{NoGroup: true}), newPipe(t), &bytes.Buffer{}
	begun, begin := gate(t)
	c := sh("echo well; (setsid env -i sh -c 'echo $$ >" + p.path + "; exec sleep 1000' &); read go <" + begun)
	c.Stdout, c.Env = out, slices.Grow(c.Env, 1)
	ended := make(chan error, 1)
	go func() { ended <- must.Err(r.Run(t.Context(), c)) }()
	other := p.next(t)
	defer unix.PidfdSendSignal(other, unix.SIGKILL, nil, 0)
	begin()
	if mark := c.Env[:2][1]; mark != "" {
		t.Errorf("the environment that was given has the mark of one program: %s", mark)
	}
	if err := <-ended; err != nil || out.String() != "well\n" || !alive(t, other) {
		t.Errorf("%v, it said %q; the other one is alive: %t", err, out, alive(t, other))
	}
}

// TestOrphans: a process that adopts ends those of its programs and leaves no zombies; a child of its own is not
// touched.
func TestOrphans(t *testing.T) {
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), orphansVariable+"=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// adopt is what the process of TestOrphans does; a text says what is wrong.
func adopt() string {
	r, own := NewRoom(Options{NoGroup: true, Adopt: true}), exec.Command("/bin/true")
	if err := r.Start(own); err != nil {
		return err.Error()
	}
	if err := waitUnreaped(own.Process.Pid); err != nil {
		return err.Error()
	}
	if _, lives := look(own.Process.Pid); lives {
		return "a zombie counts as one that lives"
	}
	for range 2 {
		if _, err := r.Run(context.Background(), sh("(setsid sleep 1000 &)")); err != nil {
			return err.Error()
		}
		if all, err := children(); err != nil || len(all) != 1 || all[0] != own.Process.Pid {
			return fmt.Sprintf("children are %d, the own one is %d: %v", all, own.Process.Pid, err)
		}
	}
	if err := r.Wait(own); err != nil {
		return err.Error()
	}
	return ""
}

// TestDescendants: in whatever order a list of processes has them.
func TestDescendants(t *testing.T) {
	t.Parallel()
	all := []process{{4, 3}, {3, 2}, {5, 9}, {2, 1}, {1, 0}}
	got := fmt.Sprint(withDescendants(all, func(p process) bool { return p.pid == 2 }))
	if want := "[{2 1} {3 2} {4 3}]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestAGroupThatCannotBeEnded: what has the mark is ended all the same, and the end of the time is told.
func TestAGroupThatCannotBeEnded(t *testing.T) {
	r, p, dir := newRoom(t, Options{NoGroup: true}), newPipe(t), filepath.Join(t.TempDir(), groupPrefix+"x")
	must.Succeed(t, os.Mkdir(dir, 0o700))
	must.Succeed(t, os.WriteFile(filepath.Join(dir, "cgroup.events"), []byte("populated 1\n"), 0o600))
	ended := make(chan error, 1)
	go func() { ended <- must.Err(r.Run(t.Context(), sh("echo $$ >"+p.path+"; sleep 1000"))) }()
	program := p.next(t)
	over, end := context.WithCancel(t.Context())
	if end(); awaitEnd(over, program) == nil {
		t.Error("a program that lives has ended")
	}
	ctx, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer stop()
	if err := EndAll(ctx, Place{Mark: r.Place().Mark, Group: dir}); err == nil || alive(t, program) {
		t.Errorf("%v, the program is alive: %t", err, alive(t, program))
	}
	must.Succeed(t, <-ended)
	if err := EndAll(t.Context(), Place{Mark: "none", Group: filepath.Join(dir, "other")}); err == nil {
		t.Error("a group that no room has made was to be ended, since one above it is of a room")
	}
}
