package elastic

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"time"
)

// node is one server: its folder, its address, and its process while it lives.
type node struct {
	kind     Kind
	dir      string
	home     string
	addr     string // of HTTP
	settings map[string]string
	output   *tail // of the present process
	cmd      *exec.Cmd
	input    io.Closer
	exited   chan struct{}
}

// write makes the node's folder.
func (n *node) write() error {
	for _, sub := range []string{"config", "data", "logs", "tmp"} {
		if err := os.MkdirAll(filepath.Join(n.dir, sub), 0o755); err != nil {
			return err
		}
	}
	for name, text := range map[string]string{"opensearch.yml": settingsFile(n.settings), "log4j2.properties": Logging, "jvm.options": ""} {
		if n.kind == OpenSearch {
			if err := os.WriteFile(filepath.Join(n.dir, "config", name), []byte(text), 0o644); err != nil { //nolint:gosec // another user reads it
				return err
			}
		}
	}
	return nil
}

// launch starts the process. Its goroutine keeps its thread for as long as the child lives: a child that is bound to its parent ends with the thread that
// started it.
func (n *node) launch(java string) error {
	n.output = &tail{}
	n.cmd = exec.Command(java, n.kind.command(n.home, n.dir)...)
	n.cmd.Dir = n.dir
	n.cmd.Env = append(os.Environ(), "LIBFFI_TMPDIR="+filepath.Join(n.dir, "tmp"))
	n.cmd.Stderr = n.output
	n.cmd.Stdout = n.output // the same writer: one goroutine copies
	input, err := n.cmd.StdinPipe()
	if err != nil {
		return err
	}
	n.input = input
	if err := bind(n.cmd, n.dir); err != nil {
		return err
	}
	exited, started := make(chan struct{}), make(chan error, 1)
	n.exited = exited
	cmd := n.cmd
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(exited)
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // how it ended does not matter: it was killed, or its output says why
		}
	}()
	if err := <-started; err != nil {
		return err
	}
	if n.kind == Elasticsearch { // it ends when its input does
		_, err = input.Write(arguments(n.dir, n.settings))
	}
	return err
}

// tail keeps the end of what is written.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	if over := len(t.buf) - 8<<10; over > 0 {
		t.buf = bytes.Clone(t.buf[over:])
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.buf)
}

// kill is kill -9; it returns when the process is gone.
func (n *node) kill() {
	if n.exited == nil {
		return
	}
	_ = n.cmd.Process.Kill() // it may have ended by itself
	<-n.exited
	_ = n.input.Close() // nobody reads it any more
	n.exited = nil
}

// errExited is the early end of a server.
var errExited = errors.New("the server ended")

// get asks the node for a page; false if it does not answer well.
func (n *node) get(ctx context.Context, path string, into any) bool {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+n.addr+path, nil)
	if err != nil {
		return false
	}
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	return resp.StatusCode == http.StatusOK && json.NewDecoder(resp.Body).Decode(into) == nil
}

// await waits until the node says what is wanted, or its process ends.
func (n *node) await(ctx context.Context, what string, says func() bool) error {
	for !says() {
		select {
		case <-n.exited:
			return fmt.Errorf("start %s: %w: %s", n.addr, errExited, n.output)
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %s: %w: %s", n.addr, what, context.Cause(ctx), n.output)
		case <-time.After(50 * time.Millisecond): // no event says when it is ready
		}
	}
	return nil
}

// ready waits until the node serves in a cluster of so many.
func (n *node) ready(ctx context.Context, nodes int) error {
	return n.await(ctx, fmt.Sprintf("%d nodes", nodes), func() bool {
		var health struct {
			Nodes int `json:"number_of_nodes"`
		}
		return n.get(ctx, "/_cluster/health?timeout=1s", &health) && health.Nodes >= nodes
	})
}
