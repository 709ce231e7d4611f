package child

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/rota-run/rota/proof/process"
)

// ErrExited is the early end of a server.
var ErrExited = errors.New("the server ended")

// Process is a server's process. Its methods may be called from any goroutine.
type Process struct {
	*process.Process
	Stdin io.WriteCloser // open while it runs
	said  tail
}

// Start starts a command.
func Start(cmd *exec.Cmd) (*Process, error) {
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	p := &Process{Stdin: stdin}
	cmd.Stderr = &p.said
	cmd.Stdout = cmd.Stderr // the same writer: one goroutine copies
	p.Process, err = process.Start(cmd)
	return p, err
}

// Said is the end of what the process has written.
func (p *Process) Said() string { return p.said.String() }

// Await asks again and again until the server serves. name says in errors what is awaited. The error wraps [ErrExited]
// or the cause of ctx, and has the end of what the process wrote.
func (p *Process) Await(ctx context.Context, name string, serves func() bool) error {
	for !serves() {
		select {
		case <-p.Done():
			return fmt.Errorf("start %s: %w: %s", name, ErrExited, p.Said())
		case <-ctx.Done():
			return fmt.Errorf("wait for %s to serve: %w: %s", name, context.Cause(ctx), p.Said())
		case <-time.After(20 * time.Millisecond): // no event says when it is ready
		}
	}
	return nil
}

// Server is what each [Node] has.
type Server struct {
	Address  string // where clients find it, host:port
	*Process        // nil while it does not run
}

// Addr is where clients find it, host:port.
func (s *Server) Addr() string { return s.Address }

// Begin starts the process.
func (s *Server) Begin(cmd *exec.Cmd) error {
	p, err := Start(cmd)
	if err == nil {
		s.Process = p
	}
	return err
}

// Running reports whether the process was started, and not killed since.
func (s *Server) Running() bool { return s.Process != nil }

// Kill is kill -9; it returns when the process is gone.
func (s *Server) Kill() {
	if !s.Running() {
		return
	}
	_ = s.Process.Kill() // it may have ended by itself
	s.Process = nil
}

// Pause stops the server as a machine does that is suspended: its connections stay, and nobody answers.
func (s *Server) Pause() error { return s.Signal(syscall.SIGSTOP) }

// Resume lets a server go on that was paused.
func (s *Server) Resume() error { return s.Signal(syscall.SIGCONT) }

// NodeVariable is the environment variable with the program that serves as the nodes of etcd and NATS, as .ci/node
// prints it. Without it a program starts itself as a node, which is slow where it is a test with the race detector: it
// would look for races in servers that are not ours.
const NodeVariable = "ROTA_TEST_NODE"

// Itself is a command that starts the program of [NodeVariable], or this one again, which is to call [Serve]: a
// variable of the environment has the plan.
func Itself(variable string, plan any) (*exec.Cmd, error) {
	text, err := json.Marshal(plan)
	program := os.Getenv(NodeVariable)
	if err == nil && program == "" {
		program, err = os.Executable()
	}
	if err != nil {
		return nil, fmt.Errorf("start this program as a node: %w", err)
	}
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), variable+"="+string(text))
	return cmd, nil
}

// Serve serves, if this process was started to be the node that a variable describes, until its standard input ends,
// which it does with the parent, however that ends. Then it returns true, and the program should end. Otherwise it
// returns false at once.
func Serve[P interface {
	Serve(ctx context.Context) error
}](variable string) bool {
	text := os.Getenv(variable)
	if text == "" {
		return false
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	go func() {
		_, err := io.Copy(io.Discard, os.Stdin)
		cancel(errors.Join(errors.New("the process that started this node has ended"), err))
	}()
	var plan P
	err := json.Unmarshal([]byte(text), &plan)
	if err == nil {
		err = plan.Serve(ctx)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", variable, err)
		os.Exit(1)
	}
	return true
}

// mostSaid is how many bytes of a server's output are kept.
const mostSaid = 64 << 10

// tail keeps the end of what is written.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	t.buf = t.buf[max(0, len(t.buf)-mostSaid):]
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(bytes.TrimSpace(t.buf))
}
