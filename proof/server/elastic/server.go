package elastic

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rota-run/rota/internal/port"
	"github.com/rota-run/rota/proof/server/child"
)

// Options of [Start].
type Options struct {
	Kind     Kind
	Dir      string            // of the data; "" is a temporary folder that Stop removes
	Nodes    int               // default 1
	Settings map[string]string // more of them
}

// Cluster is one node or several. It is not safe for concurrent use.
type Cluster struct {
	java  string
	dir   string // removed by Stop; "": kept
	nodes []*node
	addrs []string // of servers that were not started here

	release func() // gives up the ports; nil before they were found, and after
}

// ErrExternal refuses to kill servers that were not started here.
var ErrExternal = errors.New("the servers are not ours to stop")

// Start starts servers and returns when all serve. A [MissingError] says what this machine lacks.
func Start(ctx context.Context, o Options) (*Cluster, error) {
	if list := os.Getenv(o.Kind.Variable); list != "" && o.Settings == nil {
		return &Cluster{addrs: strings.Split(list, ",")}, nil
	}
	java, err := exec.LookPath("java")
	if err != nil {
		return nil, &MissingError{What: "java", Variable: variables(), Err: err}
	}
	homes, err := Homes(ctx)
	if err != nil {
		return nil, err
	}
	for attempt := 0; ; attempt++ {
		c, err := start(ctx, java, filepath.Join(homes, o.Kind.folder()), o)
		if err == nil || attempt == 2 || !errors.Is(err, child.ErrExited) { // somebody may have taken one of the ports
			return c, err
		}
	}
}

func start(ctx context.Context, java, home string, o Options) (_ *Cluster, err error) {
	c := &Cluster{java: java}
	dir := o.Dir
	if dir == "" {
		if dir, err = os.MkdirTemp("", "rota-elastic-"); err != nil {
			return nil, fmt.Errorf("make a folder for the servers: %w", err)
		}
		c.dir = dir
	}
	defer func() {
		if err != nil {
			c.Stop()
		}
	}()
	if err := c.configure(dir, home, o); err != nil {
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

// configure makes the nodes and their folders.
func (c *Cluster) configure(dir, home string, o Options) error {
	count := max(o.Nodes, 1)
	addrs, release, err := port.Find(2 * count)
	if err != nil {
		return err
	}
	c.release = release // only at the end: a server that is started again needs its ports
	for i := range count {
		n := &node{kind: o.Kind, dir: filepath.Join(dir, fmt.Sprint("n", i+1)), home: home, addr: addrs[i]}
		n.settings = settingsOf(n, i, addrs[count:])
		for key, value := range o.Settings {
			n.settings[key] = value
		}
		c.nodes = append(c.nodes, n)
		if err := n.write(); err != nil {
			return fmt.Errorf("write the folder of a server: %w", err)
		}
	}
	return nil
}

// settingsOf are the settings of node i; others are the addresses at which nodes talk to each other.
func settingsOf(n *node, i int, others []string) map[string]string {
	set := map[string]string{
		"path.data": filepath.Join(n.dir, "data"), "path.logs": filepath.Join(n.dir, "logs"), "cluster.name": "rota", "node.name": fmt.Sprint("n", i+1),
		"network.host": "127.0.0.1", "http.port": portOf(n.addr), "transport.port": portOf(others[i]),
		"cluster.routing.allocation.disk.threshold_enabled": "false",
	}
	if n.kind == Elasticsearch {
		set["path.home"] = n.home
	}
	if len(others) == 1 {
		set["discovery.type"] = "single-node"
		return set
	}
	set["discovery.seed_hosts"] = strings.Join(others, ",")
	set["discovery.initial_state_timeout"] = "0s"
	initial := "cluster.initial_master_nodes"
	if n.kind == OpenSearch {
		initial = "cluster.initial_cluster_manager_nodes"
	}
	var names []string
	for j := range others {
		names = append(names, fmt.Sprint("n", j+1))
	}
	set[initial] = strings.Join(names, ",")
	for _, check := range []string{"follower_check", "leader_check"} { // a frozen node is found soon
		set["cluster.fault_detection."+check+".interval"] = "200ms"
		set["cluster.fault_detection."+check+".timeout"] = "1s"
		set["cluster.fault_detection."+check+".retry_count"] = "2"
	}
	set["cluster.publish.timeout"] = "1s"
	return set
}

func portOf(addr string) string { return addr[strings.LastIndex(addr, ":")+1:] }

// Servers returns the addresses of all servers, host:port.
func (c *Cluster) Servers() []string {
	if len(c.nodes) == 0 {
		return slices.Clone(c.addrs)
	}
	var addrs []string
	for _, n := range c.nodes {
		addrs = append(addrs, n.addr)
	}
	return addrs
}

// URL is the store URL of an index on these servers, such as elastic://127.0.0.1:9200/rota; index "" leaves it out.
func (c *Cluster) URL(index string) string {
	url := "elastic://" + strings.Join(c.Servers(), ",")
	if index != "" {
		url += "/" + index
	}
	return url
}

// Kill kills server i, counted from 0, as kill -9 does. It returns when the process is gone.
func (c *Cluster) Kill(i int) error {
	if len(c.nodes) == 0 {
		return ErrExternal
	}
	c.nodes[i].kill()
	return nil
}

// Restart starts servers that were killed, with their data and their ports, and returns when they serve together with those that run.
func (c *Cluster) Restart(ctx context.Context, nodes ...int) error {
	for _, i := range nodes {
		if err := c.nodes[i].launch(c.java); err != nil {
			return fmt.Errorf("start a server: %w", err)
		}
	}
	up := 0
	for _, n := range c.nodes {
		if n.Process != nil {
			up++
		}
	}
	for _, i := range nodes {
		if err := c.nodes[i].ready(ctx, up); err != nil {
			return err
		}
	}
	return nil
}

// Primary waits until the shard of an index has a primary, and returns the number of its server.
func (c *Cluster) Primary(ctx context.Context, index string) (int, error) {
	for {
		for _, n := range c.nodes {
			var shards []struct{ Prirep, State, Node string }
			if n.Process == nil || !n.get(ctx, "/_cat/shards/"+index+"?format=json&h=prirep,state,node", &shards) {
				continue
			}
			for _, s := range shards {
				if i := slices.IndexFunc(c.nodes, func(n *node) bool { return n.settings["node.name"] == s.Node }); s.Prirep == "p" && s.State == "STARTED" && i >= 0 && c.nodes[i].Process != nil {
					return i, nil
				}
			}
		}
		if ctx.Err() != nil {
			return 0, fmt.Errorf("wait for a primary: %w", context.Cause(ctx))
		}
	}
}

// Green waits until all copies of an index are there, as a node that runs says.
func (c *Cluster) Green(ctx context.Context, index string) error {
	for _, n := range c.nodes {
		if n.Process == nil {
			continue
		}
		return n.Await(ctx, n.addr+" with all copies", func() bool {
			var health struct {
				Status string `json:"status"`
			}
			return n.get(ctx, "/_cluster/health/"+index+"?wait_for_status=green&timeout=2s", &health) && health.Status == "green"
		})
	}
	return ErrExternal
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
