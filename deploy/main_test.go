package deploy_test

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// rota is the binary as a release has it.
var rota string

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "rota-deploy-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	rota = filepath.Join(dir, "rota")
	if out, err := exec.Command("./build", rota).CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// patience is far above what anything here takes; a test that waits so long has failed.
const patience = 2 * time.Minute

func await(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !done(); time.Sleep(20 * time.Millisecond) { // waits: a process has no channel
		if time.Now().After(end) {
			t.Fatalf("%s: not in %v", what, patience)
		}
	}
}

// process is one that runs.
type process struct {
	cmd  *exec.Cmd
	done chan struct{}
	mu   sync.Mutex
	said bytes.Buffer
	err  error
}

func (p *process) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.said.Write(b)
}

func (p *process) output() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.said.String()
}

// start starts a command that ends with the test.
func start(t *testing.T, cmd *exec.Cmd) *process {
	t.Helper()
	p := &process{cmd: cmd, done: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = p, p
	succeed(t, cmd.Start())
	go func() { p.err = cmd.Wait(); close(p.done) }()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-p.done
		if t.Failed() {
			t.Logf("%s said:\n%s", cmd.Args[0], p.output())
		}
	})
	return p
}

// awaitSaid waits for a text of the process, and fails as soon as it has ended without it.
func (p *process) awaitSaid(t *testing.T, text string) {
	t.Helper()
	await(t, text, func() bool {
		select {
		case <-p.done:
			t.Fatalf("it ended before it said %q: %v\n%s", text, p.err, p.output())
		default:
		}
		return strings.Contains(p.output(), text)
	})
}

// leave stops it as systemd and Kubernetes do.
func (p *process) leave(t *testing.T) {
	t.Helper()
	succeed(t, p.cmd.Process.Signal(syscall.SIGTERM))
	<-p.done
	if p.err != nil || !strings.Contains(p.output(), "left gracefully") {
		t.Errorf("it did not leave in order: %v\n%s", p.err, p.output())
	}
}

// freePort is one that nobody listens on.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	succeed(t, err)
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	succeed(t, err)
	return string(b)
}

// must runs a command to its end.
func must(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(cmd.Args, " "), err, out)
	}
	return string(out)
}

// succeed ends the test if there is an error.
func succeed(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
