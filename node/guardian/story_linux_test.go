package guardian

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/store"
)

// parentVariable makes this test's program a parent: it names the directory that is the store.
const parentVariable = "GUARDIAN_TEST_PARENT"

func TestMain(m *testing.M) {
	switch dir := os.Getenv(parentVariable); {
	case Child(openDirectory):
	case dir != "":
		guarded(dir)
	default:
		os.Exit(m.Run())
	}
}

// directory is a store that cannot be opened at first, and does not answer before there is a file "answers".
type directory struct {
	Store
	path string
}

func openDirectory(_ context.Context, path string) (Store, error) {
	if err := os.Mkdir(filepath.Join(path, "tried"), 0o700); err == nil {
		return nil, store.ErrUnavailable
	}
	return directory{path: path}, nil
}

func (d directory) EndSession(_ context.Context, key string) error {
	err := os.Rename(filepath.Join(d.path, "answers"), filepath.Join(d.path, "ended "+key))
	if err != nil {
		_ = os.Mkdir(filepath.Join(d.path, "asked"), 0o700) // it may be there
	}
	return err
}

// few are children of which the second cannot be started; left are those that nobody has waited for.
type few struct {
	plain
	begun, left atomic.Int64
}

func (f *few) Start(cmd *exec.Cmd) error {
	if f.begun.Add(1) == 2 {
		return errors.New("no process")
	}
	f.left.Add(1)
	return f.plain.Start(cmd)
}

func (f *few) Wait(cmd *exec.Cmd) error {
	defer f.left.Add(-1)
	return f.plain.Wait(cmd)
}

// guarded is a parent that loses its guardian, since that cannot be told of a session with too long a key. When it has
// released that one and has a guardian again, it says which, and lives on.
func guarded(dir string) {
	children := &few{}
	g, err := Start(Options{Place: dir, Children: children})
	if err != nil {
		panic(err)
	}
	until := func(state string) {
		for s := ""; s != state && (state == On || !strings.Contains(s, state)); s = g.State() {
			time.Sleep(time.Millisecond) // waits: for the guardian
		}
	}
	until(On)
	long, released := store.EndKey{Text: strings.Repeat("long", maxMessage)}, store.EndKey{Text: "released"}
	for _, k := range []store.EndKey{{Text: "kept", File: os.NewFile(3, "kept")}, released, long} {
		g.Guard(k)
	}
	until("no process")
	until("too long")
	left := children.left.Load()
	g.Release(long)
	until(On)
	g.Release(released)
	_, _ = fmt.Fprintln(os.Stdout, g.PID(), left) // the test reads it
	select {}
}

// TestADeadParentsSessionsEnd: a guardian was lost, and another one could not be started at once. It guards what its
// parent guards, all the same: when that is killed, those sessions end as soon as the store answers, and no others do.
func TestADeadParentsSessionsEnd(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	kept, reads := pipe(t)
	cmd := exec.Command("/proc/self/exe")
	cmd.Env, cmd.ExtraFiles, cmd.Stderr = append(os.Environ(), parentVariable+"="+dir), []*os.File{kept}, os.Stderr
	out := must.Get(cmd.StdoutPipe())(t)
	must.Succeed(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	must.Succeed(t, kept.Close())
	var pid, left int
	must.Succeed(t, must.Err(fmt.Fscan(out, &pid, &left)))
	if left != 0 {
		t.Errorf("%d guardians that could not be told are left", left)
	}
	guardian := must.Get(unix.PidfdOpen(pid, 0))(t)
	signal := func(s unix.Signal) error { return unix.PidfdSendSignal(guardian, s, nil, 0) }
	t.Cleanup(func() { _ = signal(unix.SIGKILL); _ = unix.Close(guardian) })
	must.Succeed(t, signal(unix.SIGSTOP))
	must.Succeed(t, cmd.Process.Kill())
	_ = cmd.Wait() // it was killed
	if !open(t, reads) {
		t.Error("nobody holds the file of a session any more")
	}
	must.Succeed(t, signal(unix.SIGCONT))
	for {
		if _, err := os.Stat(filepath.Join(dir, "asked")); err == nil && !open(t, reads) {
			break
		}
		time.Sleep(time.Millisecond) // waits: until programs have ended, and there are none
	}
	must.Succeed(t, os.WriteFile(filepath.Join(dir, "answers"), nil, 0o600))
	if !ended(guardian) {
		t.Error("nobody knows whether the guardian has ended")
	}
	if found := must.Get(filepath.Glob(filepath.Join(dir, "*")))(t); len(found) != 3 ||
		filepath.Base(found[1]) != "ended kept" {
		t.Errorf("the store has %q", found)
	}
}
