package zookeeper

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rota-run/rota/proof/server/child"
)

// Variable is the environment variable with the addresses of servers to use instead of starting some: host:port,host:port.
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
	c, err := child.Run(ctx, o.Dir, "zookeeper", func(dir string) ([]*node, func(), error) { return plan(dir, java, lib, o) })
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
		node := &node{dir: filepath.Join(dir, fmt.Sprint(i+1)), port: ports[i], java: java, lib: lib}
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
	for {
		for i, n := range c.Nodes() {
			if n.Running() && n.mode(ctx) == "leader" {
				return i, nil
			}
		}
		select {
		case <-ctx.Done():
			return 0, fmt.Errorf("wait for a leader: %w", context.Cause(ctx))
		case <-time.After(20 * time.Millisecond): // no event says when it is elected
		}
	}
}
