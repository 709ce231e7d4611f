package zookeeper

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/rota-run/rota/internal/port"
)

// node is one server: its folder, its ports, and its process while it lives.
type node struct {
	dir    string
	port   int
	lib    string
	output bytes.Buffer // of the present process; read after exited is closed
	cmd    *exec.Cmd
	exited chan struct{}
}

func (n *node) addr() string { return fmt.Sprintf("127.0.0.1:%d", n.port) }

// launch starts the process. Its goroutine keeps its thread for as long as the child lives: a child that is bound to its parent ends with the thread that
// started it.
func (n *node) launch(java string) error {
	n.output.Reset()
	n.cmd = exec.Command(java, "-Xms16m", "-Xmx160m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
		"-cp", filepath.Join(n.lib, "*"), "org.apache.zookeeper.server.quorum.QuorumPeerMain", filepath.Join(n.dir, "zoo.cfg"))
	n.cmd.Dir = n.dir
	n.cmd.Stderr = &tail{buf: &n.output}
	n.cmd.Stdout = n.cmd.Stderr // the same writer: one goroutine copies
	bind(n.cmd)
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
	return <-started
}

// tail keeps the beginning of what is written.
type tail struct{ buf *bytes.Buffer }

func (t *tail) Write(p []byte) (int, error) {
	if t.buf.Len() < 64<<10 {
		t.buf.Write(p)
	}
	return len(p), nil
}

// kill is kill -9; it returns when the process is gone.
func (n *node) kill() {
	if n.exited == nil {
		return
	}
	_ = n.cmd.Process.Kill() // it may have ended by itself
	<-n.exited
	n.exited = nil
}

// errExited is the early end of a server.
var errExited = errors.New("the server ended")

// ready waits until the server serves, and returns its mode: standalone, leader, follower.
func (n *node) ready(ctx context.Context) (string, error) {
	for {
		if mode := n.mode(ctx); mode != "" {
			return mode, nil
		}
		select {
		case <-n.exited:
			return "", fmt.Errorf("start %s: %w: %s", n.addr(), errExited, n.output.String())
		case <-ctx.Done():
			return "", fmt.Errorf("wait for %s to serve: %w", n.addr(), context.Cause(ctx))
		case <-time.After(20 * time.Millisecond): // no event says when it is ready
		}
	}
}

// mode asks the server for its mode; "" if it does not serve. An open port is not enough.
func (n *node) mode(ctx context.Context) string { return ask(ctx, n.addr(), "Mode", time.Second) }

// ask returns the value of a line of the answer to srvr; "" if the server does not serve, or does not answer in time.
func ask(ctx context.Context, addr, name string, within time.Duration) string {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return ""
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(within)) // without it the read just ends later
	if _, err := io.WriteString(conn, "srvr"); err != nil {
		return ""
	}
	text, err := io.ReadAll(conn)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, name+": "); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// freePorts returns ports that nobody uses, nor gets before release.
func freePorts(n int) (ports []int, release func(), err error) {
	addrs, release, err := port.Find(n)
	if err != nil {
		return nil, nil, err
	}
	for _, addr := range addrs {
		at, err := net.ResolveTCPAddr("tcp", addr)
		if err != nil {
			release()
			return nil, nil, err
		}
		ports = append(ports, at.Port)
	}
	return ports, release, nil
}

func (n *node) write(name, text string) error {
	return os.WriteFile(filepath.Join(n.dir, name), []byte(text), 0o600)
}
