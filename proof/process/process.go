// Package process starts, suspends, kills and watches real processes, for tests of what happens to a cluster then.
//
// # Purpose
//
// [Start] starts a process, keeps its output and reaps it. It dies with the process that started it where the system
// can do that.
//
// SIGSTOP is a request. When the call that sends it returns, threads of the process may run for some more milliseconds
// on a busy machine, and take a lock in which they are then stopped: everybody else waits for that lock until the
// process continues. [Stop] returns when no thread runs any more, and [StopOutside] lets the process continue and tries
// again until it stops without a lock that others need.
//
// A process that gets no processor is as good as suspended, and nobody writes that down. A test that judges real
// processes by their times must know of it: [Stalls] records when the machine kept this process waiting.
//
// [Witness] reads what a member writes down about its runs while it runs, [UsageOf] what the system says that a process
// uses. [Build] builds programs.
//
// # What is not guaranteed
//
// Whether a process is stopped is read from /proc. On a Unix system without it, the signal is assumed to take effect at
// once. Stalls watches this process: another one may have waited for longer, or not at all.
package process

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/rota-run/rota/internal/proof/output"
	"github.com/rota-run/rota/proof/history"
)

// Process is a process that was started. Its methods may be called from any goroutine.
type Process struct {
	Stdout, Stderr output.Text // what it wrote, where the command named no other place

	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended and was reaped
	err  error         // how it ended; read it when done is closed
}

// Start starts a command, which must not be used any more. A goroutine keeps its thread for as long as the child lives:
// a child that is bound to its parent ends with the thread that started it.
func Start(cmd *exec.Cmd) (*Process, error) {
	p := &Process{cmd: cmd, done: make(chan struct{})}
	if cmd.Stdout == nil {
		cmd.Stdout = &p.Stdout
	}
	if cmd.Stderr == nil {
		cmd.Stderr = &p.Stderr
	}
	Bind(cmd, syscall.SIGKILL)
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(p.done)
		err := cmd.Start()
		started <- err
		if err == nil {
			p.err = cmd.Wait()
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", cmd.Path, err)
	}
	return p, nil
}

// PID is the process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Done is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Ended reports whether the process has ended.
func (p *Process) Ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// Err is how the process ended: nil if it runs, or if its exit code was 0.
func (p *Process) Err() error {
	if !p.Ended() {
		return nil
	}
	return p.err
}

// Wait waits until the process has ended and returns its exit code; -1 if a signal ended it. The error wraps the cause
// of ctx.
func (p *Process) Wait(ctx context.Context) (code int, err error) {
	select {
	case <-p.done:
		return p.cmd.ProcessState.ExitCode(), nil
	case <-ctx.Done():
		return 0, fmt.Errorf("wait for the end of %s: %w", p.cmd.Path, context.Cause(ctx))
	}
}

// Signal sends a signal. The error wraps [os.ErrProcessDone] if the process has ended.
func (p *Process) Signal(s os.Signal) error {
	if err := p.cmd.Process.Signal(s); err != nil {
		return fmt.Errorf("send %s to %s: %w", s, p.cmd.Path, err)
	}
	return nil
}

// Kill is kill -9, and returns when the process is gone. It is no error if it has ended already.
func (p *Process) Kill() error {
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill %s: %w", p.cmd.Path, err)
	}
	<-p.done
	return nil
}

// names are those of programs that have another name than their folder.
var names = map[string]string{"github.com/rota-run/rota/proof/demoserver": "rota-demo-server"} // read-only: a table

// Rota is the command's package.
const Rota = "github.com/rota-run/rota/cmd/rota"

// Build builds programs, which are given as packages, into a directory, without what only debuggers read. Packages
// outside of this module are built as its go.mod says.
func Build(ctx context.Context, dir string, packages ...string) error {
	for _, p := range packages {
		name := cmp.Or(names[p], filepath.Base(p))
		if out, err := exec.CommandContext(ctx, "go", "build", "-ldflags=-w", "-o", filepath.Join(dir, name),
			p).CombinedOutput(); err != nil {
			return fmt.Errorf("build %s: %w\n%s", p, err, out)
		}
	}
	return nil
}

// Witness reads the file in which a member writes down its runs (rota run --witness). It is for one goroutine.
type Witness struct {
	Path        string
	Incarnation uint64 // of the records

	read int64 // bytes that were read
}

// Next returns what the member has written since the last call: none while there is no file. A line that is not yet
// complete is left for later.
func (w *Witness) Next() ([]history.Record, error) {
	f, err := os.Open(w.Path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read a witness: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.NewSectionReader(f, w.read, 1<<30))
	if err != nil {
		return nil, fmt.Errorf("read a witness: %w", err)
	}
	data = data[:bytes.LastIndexByte(data, '\n')+1]
	records, _, err := history.ReadLines(data, w.Incarnation)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", w.Path, err)
	}
	w.read += int64(len(data))
	return records, nil
}

// Usage is what a process uses: memory in KB, now and at most, and time of processors.
type Usage struct {
	Now, Peak int
	CPU       time.Duration
}

// UsageOf reads what Linux says; zeros elsewhere.
func UsageOf(pid int) (u Usage) {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(status)) {
		switch f := strings.Fields(line); {
		case len(f) < 2:
		case f[0] == "VmRSS:":
			u.Now, _ = strconv.Atoi(f[1])
		case f[0] == "VmHWM:":
			u.Peak, _ = strconv.Atoi(f[1])
		}
	}
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if f := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:])); len(f) > 13 {
		user, _ := strconv.Atoi(f[11])
		system, _ := strconv.Atoi(f[12])
		u.CPU = time.Duration(user+system) * 10 * time.Millisecond
	}
	return u
}
