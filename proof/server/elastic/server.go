package elastic

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rota-run/rota/internal/proof/port"
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
type Cluster struct{ child.Cluster[*node] }

// ErrExternal refuses to kill servers that were not started here.
var ErrExternal = child.ErrExternal

// Start starts servers and returns when all serve. A [MissingError] says what this machine lacks.
func Start(ctx context.Context, o Options) (*Cluster, error) {
	if c, ok := child.External[*node](o.Kind.Variable); ok && o.Settings == nil {
		return &Cluster{c}, nil
	}
	java, err := child.Java(variables())
	if err != nil {
		return nil, err
	}
	homes, err := Homes(ctx)
	if err != nil {
		return nil, err
	}
	home := filepath.Join(homes, o.Kind.folder())
	c, err := child.Run(ctx, o.Dir, "elastic",
		func(dir string) ([]*node, func(), error) { return plan(dir, java, home, o) })
	return &Cluster{c}, err
}

// plan makes the nodes and their folders.
func plan(dir, java, home string, o Options) (nodes []*node, release func(), err error) {
	count := max(o.Nodes, 1)
	addrs, release, err := port.Find(2 * count)
	if err != nil {
		return nil, nil, err
	}
	for i := range count {
		n := &node{kind: o.Kind, dir: filepath.Join(dir, fmt.Sprint("n", i+1)), java: java, home: home,
			Server: child.Server{Address: addrs[i]}}
		n.settings = settingsOf(n, i, addrs[count:])
		maps.Copy(n.settings, o.Settings)
		nodes = append(nodes, n)
		if err := n.write(); err != nil {
			return nil, release, err
		}
	}
	return nodes, release, nil
}

// settingsOf are the settings of node i; others are the addresses at which nodes talk to each other.
func settingsOf(n *node, i int, others []string) map[string]string {
	set := map[string]string{
		"path.data": filepath.Join(n.dir, "data"), "path.logs": filepath.Join(n.dir, "logs"), "cluster.name": "rota",
		"node.name":    fmt.Sprint("n", i+1),
		"network.host": "127.0.0.1", "http.port": portOf(n.Addr()), "transport.port": portOf(others[i]),
		"cluster.routing.allocation.disk.threshold_enabled": "false",
		"indexing_pressure.memory.limit":                    "40%", // of a heap that is small: a document has up to 22 MB
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

// URL is the store URL of an index on these servers, such as elastic://127.0.0.1:9200/rota; index "" leaves it out.
func (c *Cluster) URL(index string) string {
	url := "elastic://" + strings.Join(c.Servers(), ",")
	if index != "" {
		url += "/" + index
	}
	return url
}

// Primary waits until the shard of an index has a primary, and returns the number of its server.
func (c *Cluster) Primary(ctx context.Context, index string) (int, error) {
	primary := -1
	_, err := c.First(ctx, "a primary", func(n *node) bool {
		var shards []struct{ Prirep, State, Node string }
		n.get(ctx, "/_cat/shards/"+index+"?format=json&h=prirep,state,node", &shards)
		primary = slices.IndexFunc(c.Nodes(), func(n *node) bool {
			return n.Running() && slices.ContainsFunc(shards, func(s struct{ Prirep, State, Node string }) bool {
				return s.Prirep == "p" && s.State == "STARTED" && s.Node == n.settings["node.name"]
			})
		})
		return primary >= 0
	})
	return primary, err
}

// Green waits until all copies of an index are there, as a node that runs says.
func (c *Cluster) Green(ctx context.Context, index string) error {
	for _, n := range c.Nodes() {
		if !n.Running() {
			continue
		}
		return n.Await(ctx, n.Addr()+" with all copies", func() bool {
			var health struct {
				Status string `json:"status"`
			}
			return n.get(ctx, "/_cluster/health/"+index+"?wait_for_status=green&timeout=2s", &health) &&
				health.Status == "green"
		})
	}
	return ErrExternal
}
