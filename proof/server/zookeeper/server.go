// Package zookeeper starts ZooKeeper servers for tests.
//
// # Purpose
//
// A driver is tested on the real server or not at all. [Start] starts one server or an ensemble of three on ports of
// the loopback interface. Tests kill and restart the servers, and ask which one leads. With addresses in [Variable]
// tests use those servers instead, and cannot kill them.
//
// # What is needed
//
// java (11 or newer), and the servers' jars: in the folder of [JarsVariable], or resolved once by mvn, from a pinned
// list of dependencies, into the user's cache folder. .ci/zookeeper installs what a machine lacks. Where something is
// missing, Start returns a [MissingError]; see [Require].
package zookeeper

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/rota-run/rota/proof/server/child"
)

// Variable is the environment variable with the addresses of servers to use instead of starting some:
// host:port,host:port.
const Variable = "ROTA_TEST_ZOOKEEPER"

// Options of [Start].
type Options struct {
	Dir   string        // of the data; "" is a temporary folder that Stop removes
	Nodes int           // default 1
	Tick  time.Duration // tickTime; default 100 ms. Sessions last 2 to 20 ticks unless MaxSession says otherwise
	// MaxSession is the longest session that a server grants; default 5 minutes.
	MaxSession time.Duration
}

// Cluster is one server or an ensemble, which serves when most are there. It is not safe for concurrent use.
type Cluster struct{ child.Cluster[*node] }

// ErrExternal refuses to kill servers that were not started here.
var ErrExternal = child.ErrExternal

// Start starts servers and returns when all serve. A [MissingError] says what this machine lacks.
func Start(ctx context.Context, o Options) (*Cluster, error) {
	if c, ok := child.External[*node](Variable); ok {
		return &Cluster{c}, nil
	}
	java, lib, err := Parts(ctx)
	if err != nil {
		return nil, err
	}
	c, err := child.Run(ctx, o.Dir, "zookeeper",
		func(dir string) ([]*node, func(), error) { return plan(dir, java, lib, o) })
	return &Cluster{c}, err
}

// plan writes the servers' folders.
func plan(dir, java, lib string, o Options) (nodes []*node, release func(), err error) {
	n := max(o.Nodes, 1)
	ports, release, err := child.Ports(3 * n)
	if err != nil {
		return nil, nil, err
	}
	ensemble := ""
	for i := 0; i < n && n > 1; i++ {
		ensemble += fmt.Sprintf("server.%d=127.0.0.1:%d:%d\n", i+1, ports[n+i], ports[2*n+i])
	}
	for i := range n {
		node := &node{Server: child.Server{Address: fmt.Sprintf("127.0.0.1:%d", ports[i])},
			dir: filepath.Join(dir, fmt.Sprint(i+1)), port: ports[i], java: java, lib: lib}
		nodes = append(nodes, node)
		if err := node.configure(i+1, ensemble, o); err != nil {
			return nil, release, err
		}
	}
	return nodes, release, nil
}

func (n *node) configure(id int, ensemble string, o Options) error {
	tick, most := o.Tick, o.MaxSession
	if tick == 0 {
		tick = 100 * time.Millisecond
	}
	if most == 0 {
		most = 5 * time.Minute
	}
	if err := os.MkdirAll(filepath.Join(n.dir, "data"), 0o700); err != nil {
		return err
	}
	if err := n.write("data/myid", fmt.Sprint(id)); err != nil {
		return err
	}
	return n.write("zoo.cfg", fmt.Sprintf(`tickTime=%d
dataDir=%s
clientPortAddress=127.0.0.1
clientPort=%d
maxSessionTimeout=%d
admin.enableServer=false
4lw.commands.whitelist=srvr
maxClientCnxns=0
initLimit=300
syncLimit=100
%s`, tick.Milliseconds(), filepath.ToSlash(filepath.Join(n.dir, "data")), n.port, most.Milliseconds(), ensemble))
}

// URL is the store URL of a path on these servers, such as zookeeper://127.0.0.1:2181/rota.
func (c *Cluster) URL(path string) string {
	return "zookeeper://" + strings.Join(c.Servers(), ",") + path
}

// Leader waits until an ensemble has a leader, and returns its number.
func (c *Cluster) Leader(ctx context.Context) (int, error) {
	return c.First(ctx, "a leader", func(n *node) bool { return n.mode(ctx) == "leader" })
}

// node is one server: its folder, its ports, and its process while it lives.
type node struct {
	child.Server
	dir  string
	port int
	java string
	lib  string
}

// Launch implements child.Node.
func (n *node) Launch() error {
	cmd := exec.Command(n.java, "-Xms16m", "-Xmx160m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
		"-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
		"-cp", filepath.Join(n.lib, "*"), "org.apache.zookeeper.server.quorum.QuorumPeerMain",
		filepath.Join(n.dir, "zoo.cfg"))
	cmd.Dir = n.dir
	return n.Begin(cmd)
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

// Packets returns how many packets a server has received from its clients since it started, by its own count: requests,
// and pings of sessions.
func (c *Cluster) Packets(ctx context.Context, i int) (uint64, error) {
	addr := c.Servers()[i]
	n, err := strconv.ParseUint(ask(ctx, addr, "Received", 20*time.Second), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("count packets: %s says nothing of what it received: %w", addr, err)
	}
	return n, nil
}
