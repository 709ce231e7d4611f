package zookeeper

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/rota-run/rota/proof/server/child"
)

// node is one server: its folder, its ports, and its process while it lives.
type node struct {
	dir  string
	port int
	java string
	lib  string

	*child.Process // nil: it does not run
}

// Addr implements child.Node.
func (n *node) Addr() string { return fmt.Sprintf("127.0.0.1:%d", n.port) }

// Launch implements child.Node.
func (n *node) Launch() (err error) {
	cmd := exec.Command(n.java, "-Xms16m", "-Xmx160m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
		"-cp", filepath.Join(n.lib, "*"), "org.apache.zookeeper.server.quorum.QuorumPeerMain", filepath.Join(n.dir, "zoo.cfg"))
	cmd.Dir = n.dir
	n.Process, err = child.Start(cmd)
	return err
}

// Kill implements child.Node.
func (n *node) Kill() {
	n.Process.Kill()
	n.Process = nil
}

// Ready implements child.Node.
func (n *node) Ready(ctx context.Context, _ int) error {
	return n.Await(ctx, n.Addr(), func() bool { return n.mode(ctx) != "" })
}

// mode asks the server for its mode; "" if it does not serve. An open port is not enough.
func (n *node) mode(ctx context.Context) string { return ask(ctx, n.Addr(), "Mode", time.Second) }

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

func (n *node) write(name, text string) error {
	return os.WriteFile(filepath.Join(n.dir, name), []byte(text), 0o600)
}
