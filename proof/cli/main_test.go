package cli_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/output"
	"github.com/rota-run/rota/internal/view"
	"github.com/rota-run/rota/proof/process"
	"github.com/rota-run/rota/proof/process/processtest"
	"github.com/rota-run/rota/proof/server"
)

// programs is the directory with rota and the program that runs servers for its demonstration.
var programs string

func TestMain(m *testing.M) {
	if server.Child() {
		return
	}
	code := processtest.Main(m, &programs, "github.com/rota-run/rota/cmd/rota",
		"github.com/rota-run/rota/proof/demoserver")
	stopServers()
	os.Exit(code)
}

// The exit codes of the command.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

const patience = processtest.Patience

func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	processtest.Await(t, what, holds)
}

// place is a directory with a store and task files.
type place struct {
	t       *testing.T
	dir     string
	store   string   // where the members meet
	name    string   // of the store, where it is on a server
	program string   // rota, as a path
	env     []string // besides what each command has
}

func newPlace(t *testing.T) *place {
	t.Helper()
	t.Parallel()
	p := &place{t: t, dir: t.TempDir(), store: "file:store", program: filepath.Join(programs, "rota")}
	must.Succeed(t, os.Mkdir(filepath.Join(p.dir, "tasks"), 0o750))
	return p
}

func (p *place) write(name, text string) {
	p.t.Helper()
	must.Succeed(p.t, os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o640))
}

// task writes a file of a task in one step: no member sees half of it.
func (p *place) task(name, text string) {
	p.t.Helper()
	p.write("draft", text)
	must.Succeed(p.t, os.Rename(filepath.Join(p.dir, "draft"), filepath.Join(p.dir, "tasks", name)))
}

func (p *place) noops(n int) {
	p.t.Helper()
	for i := range n {
		p.task(fmt.Sprintf("t%02d.yaml", i), "type: noop\nevery: 1s\n")
	}
}

func (p *place) command(args ...string) *exec.Cmd {
	cmd := exec.Command(p.program, args...)
	cmd.Dir = p.dir
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + p.dir, "TMPDIR=" + p.dir}, p.env...)
	return cmd
}

// rota runs a command to its end.
func (p *place) rota(args ...string) (stdout, stderr string, code int) {
	p.t.Helper()
	return p.run(p.command(args...))
}

func (p *place) run(cmd *exec.Cmd) (stdout, stderr string, code int) {
	p.t.Helper()
	var out, errs output.Text
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		p.t.Fatalf("%s: %v", strings.Join(cmd.Args, " "), err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// says runs a command on the place's store, which ends with a code and says something: on stdout, and of a failure on
// stderr. It returns what was printed on stdout.
func (p *place) says(command string, code int, want ...string) string {
	p.t.Helper()
	stdout, stderr, got := p.rota(append(strings.Fields(command), "--store", p.store)...)
	said := stdout
	if code != exitOK {
		said = stderr
	}
	if got != code || !containsAll(said, want) {
		p.t.Errorf("rota %s: exit %d, want %d and %q:\n%s%s", command, got, code, want, stdout, stderr)
	}
	return stdout
}

// tells runs a command that acts, which ends well and tells on stderr what it has done.
func (p *place) tells(command string, want ...string) {
	p.t.Helper()
	stdout, stderr, code := p.rota(append(strings.Fields(command), "--store", p.store)...)
	if code != exitOK || !containsAll(stderr, want) {
		p.t.Errorf("rota %s: exit %d, want %q:\n%s%s", command, code, want, stdout, stderr)
	}
}

// running is a member that runs.
type running struct {
	*place
	*process.Process
}

// start starts a member. Its TTL is so long that a busy machine costs it no task; a test that waits for a silent member
// gives another one.
func (p *place) start(name string, args ...string) *running {
	p.t.Helper()
	cmd := p.command(append([]string{"run", "--store", p.store, "--member", name, "--listen", "none", "--ttl", "30s"},
		args...)...)
	return &running{p, processtest.Start(p.t, name, cmd)}
}

func (m *running) signal(s syscall.Signal) {
	m.t.Helper()
	must.Succeed(m.t, m.Signal(s))
}

// end waits until the process has ended and returns its exit code.
func (m *running) end() int {
	m.t.Helper()
	ctx, cancel := context.WithTimeout(m.t.Context(), patience)
	defer cancel()
	code, err := m.Wait(ctx)
	if err != nil {
		m.t.Fatalf("%v; it said:\n%s", err, m.Stderr.String())
	}
	return code
}

// tasks are the tasks as the command shows them; none while there is no store.
func (p *place) tasks() []view.Task {
	out, _, code := p.rota("task", "list", "--store", p.store, "-o", "json")
	var tasks []view.Task
	if code != exitOK {
		return nil
	}
	if err := json.Unmarshal([]byte(out), &tasks); err != nil {
		p.t.Fatalf("%v in %s", err, out)
	}
	return tasks
}

// allTasks are the tasks, when there are so many. A server may not answer at once.
func (p *place) allTasks(total int) (tasks []view.Task) {
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
		if t.State != view.Running {
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

// version is what rota version says.
func (p *place) version() string {
	p.t.Helper()
	out, stderr, code := p.rota("version", "-o", "json")
	var v struct {
		Version string `json:"version"`
	}
	if err := json.Unmarshal([]byte(out), &v); err != nil || code != exitOK || v.Version == "" {
		p.t.Fatalf("exit %d, %v: %s%s", code, err, out, stderr)
	}
	return v.Version
}

func containsAll(s string, want []string) bool {
	return !slices.ContainsFunc(want, func(w string) bool { return !strings.Contains(s, w) })
}
