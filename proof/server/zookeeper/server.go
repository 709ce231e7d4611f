package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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

// Cluster is one server or an ensemble. It is not safe for concurrent use.
type Cluster struct {
	java  string
	dir   string // removed by Stop; "": kept
	nodes []*node
	addrs []string // of servers that were not started here

	release func() // gives up the ports; nil before they were found, and after
}

// ErrExternal refuses to kill servers that were not started here.
var ErrExternal = errors.New("the servers of " + Variable + " are not ours to stop")

// Start starts servers and returns when all serve. A [MissingError] says what this machine lacks.
func Start(ctx context.Context, o Options) (*Cluster, error) {
	if list := os.Getenv(Variable); list != "" {
		return &Cluster{addrs: strings.Split(list, ",")}, nil
	}
	java, lib, err := Parts(ctx)
	if err != nil {
		return nil, err
	}
	for attempt := 0; ; attempt++ {
		c, err := start(ctx, java, lib, o)
		if err == nil || attempt == 4 || !errors.Is(err, child.ErrExited) { // somebody may have taken one of the ports
			return c, err
		}
	}
}

func start(ctx context.Context, java, lib string, o Options) (_ *Cluster, err error) {
	c := &Cluster{java: java}
	dir := o.Dir
	if dir == "" {
		if dir, err = os.MkdirTemp("", "rota-zookeeper-"); err != nil {
			return nil, fmt.Errorf("make a folder for the servers: %w", err)
		}
		c.dir = dir
	}
	defer func() {
		if err != nil {
			c.Stop()
		}
	}()
	if err := c.configure(dir, lib, o); err != nil {
		return nil, err
	}
	return c, c.Restart(ctx, c.all()...)
}

func (c *Cluster) all() []int {
	all := make([]int, len(c.nodes))
	for i := range all {
		all[i] = i
	}
	return all
}

// configure writes the servers' folders.
func (c *Cluster) configure(dir, lib string, o Options) error {
	n := max(o.Nodes, 1)
	ports, release, err := child.Ports(3 * n)
	if err != nil {
		return err
	}
	c.release = release // only at the end: a server that is started again needs its ports
	ensemble := ""
	for i := 0; i < n && n > 1; i++ {
		ensemble += fmt.Sprintf("server.%d=127.0.0.1:%d:%d\n", i+1, ports[n+i], ports[2*n+i])
	}
	for i := range n {
		node := &node{dir: filepath.Join(dir, fmt.Sprint(i+1)), port: ports[i], lib: lib}
		c.nodes = append(c.nodes, node)
		if err := node.configure(i+1, ensemble, o); err != nil {
			return fmt.Errorf("write the folder of a server: %w", err)
		}
	}
	return nil
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

// Servers returns the addresses of all servers, host:port.
func (c *Cluster) Servers() []string {
	if len(c.nodes) == 0 {
		return slices.Clone(c.addrs)
	}
	var addrs []string
	for _, n := range c.nodes {
		addrs = append(addrs, n.addr())
	}
	return addrs
}

// URL is the store URL of a path on these servers, such as zookeeper://127.0.0.1:2181/rota.
func (c *Cluster) URL(path string) string {
	return "zookeeper://" + strings.Join(c.Servers(), ",") + path
}

// Kill kills server i, counted from 0, as kill -9 does. It returns when the process is gone.
func (c *Cluster) Kill(i int) error {
	if len(c.nodes) == 0 {
		return ErrExternal
	}
	c.nodes[i].kill()
	return nil
}

// Restart starts servers that were killed, with their data and their ports, and returns when they serve. An ensemble serves when most are there.
func (c *Cluster) Restart(ctx context.Context, nodes ...int) error {
	for _, i := range nodes {
		if err := c.nodes[i].launch(c.java); err != nil {
			return fmt.Errorf("start a server: %w", err)
		}
	}
	for _, i := range nodes {
		if err := c.nodes[i].ready(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Leader waits until an ensemble has a leader, and returns its number.
func (c *Cluster) Leader(ctx context.Context) (int, error) {
	for {
		for i, n := range c.nodes {
			if n.Process != nil && n.mode(ctx) == "leader" {
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

// Stop kills all servers that were started here, and removes a temporary folder. It may be called again.
func (c *Cluster) Stop() {
	for _, n := range c.nodes {
		n.kill()
	}
	if c.release != nil {
		c.release()
		c.release = nil
	}
	if c.dir != "" {
		_ = os.RemoveAll(c.dir) // it is a temporary one
	}
}
