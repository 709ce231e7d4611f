package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rota-run/rota/api"
)

// binary is the command, built once, so that the tests run what a user runs.
var binary string

func TestMain(m *testing.M) {
	os.Exit(buildAndRun(m))
}

func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "rota-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "rota")
	if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build the command: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// patience bounds every wait; it says nothing about how long things should take.
const patience = 60 * time.Second

// await looks until a condition holds.
func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	limit := time.After(patience)
	began := time.Now()
	for !holds() {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("waited %s and it is not so: %s", patience, what)
		}
	}
	t.Logf("%5d ms until %s", time.Since(began).Milliseconds(), what)
}

// output is what a process wrote so far.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// place is a directory with a store and task files.
type place struct {
	t     *testing.T
	dir   string
	store string // where the members meet
}

func newPlace(t *testing.T) *place {
	t.Helper()
	t.Parallel()
	p := &place{t, t.TempDir(), "file:store"}
	if err := os.Mkdir(filepath.Join(p.dir, "tasks"), 0o750); err != nil {
		t.Fatal(err)
	}
	return p
}

// task writes a file of a task in one step: no member sees half of it.
func (p *place) task(name, text string) {
	p.t.Helper()
	p.write("draft", text)
	if err := os.Rename(filepath.Join(p.dir, "draft"), filepath.Join(p.dir, "tasks", name)); err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) noops(n int) {
	p.t.Helper()
	for i := range n {
		p.task(fmt.Sprintf("t%02d.yaml", i), "type: noop\nevery: 1s\n")
	}
}

func (p *place) command(args ...string) *exec.Cmd {
	cmd := exec.Command(binary, args...)
	cmd.Dir = p.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + p.dir, "TMPDIR=" + p.dir}
	return cmd
}

// rota runs a command to its end.
func (p *place) rota(args ...string) (stdout, stderr string, code int) {
	p.t.Helper()
	var out, errs output
	cmd := p.command(args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		p.t.Fatalf("rota %s: %v", strings.Join(args, " "), err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// running is one member that runs.
type running struct {
	*place
	cmd            *exec.Cmd
	stdout, stderr output
	done           chan struct{}
}

// start starts a member. Its TTL is so long that a busy machine costs it no task; who waits for one that is silent says another one.
func (p *place) start(name string, args ...string) *running {
	p.t.Helper()
	m := &running{place: p, done: make(chan struct{})}
	m.cmd = p.command(append([]string{"run", "--store", p.store, "--member", name, "--listen", "none", "--ttl", "30s"}, args...)...)
	m.cmd.Stdout, m.cmd.Stderr = &m.stdout, &m.stderr
	if err := m.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	go func() {
		defer close(m.done)
		_ = m.cmd.Wait() // tests that care look at ProcessState
	}()
	p.t.Cleanup(func() {
		_ = m.cmd.Process.Kill()
		<-m.done
		if p.t.Failed() {
			p.t.Logf("%s said:\n%s", name, m.stderr.String())
		}
	})
	return m
}

func (m *running) signal(s syscall.Signal) {
	m.t.Helper()
	if err := m.cmd.Process.Signal(s); err != nil {
		m.t.Fatal(err)
	}
}

// end waits until the process has ended and returns its exit code.
func (m *running) end() int {
	m.t.Helper()
	ctx, cancel := context.WithTimeout(m.t.Context(), patience)
	defer cancel()
	select {
	case <-m.done:
	case <-ctx.Done():
		m.t.Fatalf("it did not end; it said:\n%s", m.stderr.String())
	}
	return m.cmd.ProcessState.ExitCode()
}

// tasks are the tasks as the command shows them; none while there is no store.
func (p *place) tasks() []api.Task {
	out, _, code := p.rota("tasks", "--store", p.store, "--json")
	var tasks []api.Task
	if code != exitOK {
		return nil
	}
	if err := json.Unmarshal([]byte(out), &tasks); err != nil {
		p.t.Fatalf("%v in %s", err, out)
	}
	return tasks
}

// allTasks are the tasks, when there are so many. A server may not answer at once.
func (p *place) allTasks(total int) (tasks []api.Task) {
	p.t.Helper()
	await(p.t, fmt.Sprintf("%d tasks are listed", total), func() bool {
		tasks = p.tasks()
		return len(tasks) == total
	})
	return tasks
}

// shares are how many tasks each member runs, sorted, as text; "" while something does not run.
func (p *place) shares(total int) string {
	tasks := p.tasks()
	count := map[string]int{}
	for _, t := range tasks {
		if t.State != api.Running {
			return ""
		}
		count[t.Owner]++
	}
	if len(tasks) != total {
		return ""
	}
	var out []string
	for m, n := range count {
		out = append(out, fmt.Sprintf("%s:%d", m, n))
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

func (p *place) awaitShares(total int, want string) {
	p.t.Helper()
	await(p.t, "the tasks are shared "+want, func() bool { return p.shares(total) == want })
}
