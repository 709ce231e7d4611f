// Package nats runs NATS servers with JetStream on this machine, as processes that can be killed.
//
// # Purpose
//
// Tests and `rota demo` need a server that is there without being installed. [Spawn] runs one node, or a cluster of
// three, as processes of their own, made of the program that calls it: it must begin with [Child].
//
// # Guarantees
//
// Nodes listen on the loopback alone, on ports that the system chose, and write to the directory given. Each write
// reaches the disk before it is acknowledged (sync_interval: always), unless Options.NoSync is set. A node that is
// started again has its port and its data.
//
// # What is not guaranteed
//
// There is neither a password nor TLS: any process that can reach the loopback of this machine can use the server. On
// other systems than Linux a port that the system chose can be taken by somebody else before the node listens; then
// starting fails.
package nats

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	nc "github.com/nats-io/nats.go"

	"github.com/rota-run/rota/proof/server/child"
)

// syncInterval has no meaning beside SyncAlways, but must not be zero.
const syncInterval = 2 * time.Minute

// Options of [Spawn].
type Options struct {
	Dir   string // where nodes keep their data, one folder each; "" is a temporary folder that Stop removes
	Nodes int    // 1 or 3; default 1
	// Monitor opens a port for monitoring as well, of which [Processes.Messages] asks.
	Monitor bool
	// NoSync leaves out the syncing of each write to disk: faster, and right for what nobody needs after a power cut.
	// What was written survives the end of the process all the same.
	NoSync bool
	// NoAdvertise keeps the nodes of a cluster from naming each other to clients: a client knows the addresses it was
	// given alone, which may be proxies.
	NoAdvertise bool
	// MaxStore is how many bytes the streams may have, and MaxPayload how many a message; 0 is the server's default.
	MaxStore   int64
	MaxPayload int32
}

// Processes are the nodes of a server, each a process of its own.
type Processes struct{ child.Cluster[*node] }

// Spawn starts the nodes as processes and returns when they can be used. ctx bounds the start alone. Stop them.
func Spawn(ctx context.Context, o Options) (*Processes, error) {
	if o.Nodes > 1 && o.Nodes != 3 {
		return nil, fmt.Errorf("start NATS: %d nodes: give 1 or 3", o.Nodes)
	}
	c, err := child.Run(ctx, o.Dir, "nats", func(dir string) ([]*node, func(), error) { return plans(dir, o) })
	return &Processes{c}, err
}

// plans chooses the ports of all nodes, which are kept until release. The server itself does not say what is wrong with
// a directory: so that is found out here.
func plans(dir string, o Options) (nodes []*node, release func(), err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, nil, err
	}
	count := max(o.Nodes, 1)
	ports, release, err := child.Ports(3 * count)
	if err != nil {
		return nil, nil, err
	}
	for i := range count {
		name := "n" + strconv.Itoa(i+1)
		n := &node{plan: plan{Name: name, Dir: filepath.Join(dir, name), NoSync: o.NoSync, Space: o.MaxStore,
			Most: o.MaxPayload, Hidden: o.NoAdvertise, Port: ports[i]}}
		n.Address = n.address()
		if o.Monitor {
			n.Watch = ports[2*count+i]
		}
		if count > 1 {
			n.Route, n.Routes = ports[count+i], ports[count:2*count]
		}
		nodes = append(nodes, n)
	}
	return nodes, release, nil
}

// node is one of them: how it is started, and its process while it lives.
type node struct {
	child.Server
	plan
}

// plan is what one node needs to know. It travels to a child as JSON.
type plan struct {
	Name   string
	Dir    string
	NoSync bool
	Space  int64 // of all streams; 0: no limit
	Most   int32 // bytes of a message; 0: the default
	Hidden bool  // not advertised by the other nodes
	Port   int   // for clients
	Watch  int   // for monitoring; 0: not wanted
	Route  int   // for other nodes; 0 without a cluster
	Routes []int // of all nodes
}

const loopback = "127.0.0.1"

func (p plan) address() string { return net.JoinHostPort(loopback, strconv.Itoa(p.Port)) }

func (p plan) url() string { return "nats://" + p.address() }

// variable carries the plan of a node to the process that is to be it.
const variable = "ROTA_NATS_NODE"

// Launch implements child.Node.
func (n *node) Launch() error {
	cmd, err := child.Itself(variable, n.plan)
	if err != nil {
		return err
	}
	return n.Begin(cmd)
}

// Ready implements child.Node: a stream with replicas can be made through the node. Only then the leader of the cluster
// knows of all nodes.
func (n *node) Ready(ctx context.Context, replicas int) error {
	var last error
	err := n.Await(ctx, fmt.Sprintf("NATS node %s at %s", n.Name, n.Addr()), func() bool {
		last = try(n.plan, replicas)
		return last == nil
	})
	if err != nil {
		return fmt.Errorf("%w: %w", err, last)
	}
	return nil
}

// Child makes this process a node if [Spawn] started it as one: then it serves until its stdin ends, or it is killed,
// and returns true, and the program should end. A program that calls Spawn calls Child before all else.
func Child() bool { return child.Serve[plan](variable) }

// Serve serves as the node until ctx ends.
func (p plan) Serve(ctx context.Context) error {
	n, err := server.NewServer(p.options())
	if err != nil {
		return fmt.Errorf("node %s: %w", p.Name, err)
	}
	go n.Start() // returns once the node listens; Shutdown ends all that it began
	<-ctx.Done()
	n.Shutdown()
	n.WaitForShutdown()
	return nil
}

// options are those of the server itself.
func (p plan) options() *server.Options {
	o := &server.Options{
		ServerName:   p.Name,
		Host:         loopback,
		Port:         p.Port,
		JetStream:    true,
		StoreDir:     p.Dir,
		SyncAlways:   !p.NoSync,
		SyncInterval: syncInterval,
		NoLog:        true,
		NoSigs:       true,

		JetStreamMaxStore: p.Space,
		MaxPayload:        p.Most,
	}
	if p.Watch != 0 {
		o.HTTPHost, o.HTTPPort = loopback, p.Watch
	}
	if p.Route != 0 {
		o.Cluster = server.ClusterOpts{Name: "rota", Host: loopback, Port: p.Route, NoAdvertise: p.Hidden}
		for _, r := range p.Routes {
			o.Routes = append(o.Routes, server.RoutesFromStr("nats://"+net.JoinHostPort(loopback, strconv.Itoa(r)))...)
		}
	}
	return o
}

// URL is what a client connects to: the addresses of all nodes, with commas between them.
func (p *Processes) URL() string { return strings.Join(p.URLs(), ",") }

// URLs are the addresses of the nodes, one by one, also of those that do not run.
func (p *Processes) URLs() (urls []string) {
	for _, n := range p.Nodes() {
		urls = append(urls, n.url())
	}
	return urls
}

// Names are the names under which the nodes speak of each other.
func (p *Processes) Names() (names []string) {
	for _, n := range p.Nodes() {
		names = append(names, n.Name)
	}
	return names
}

// Signal sends a signal to node i, to freeze it for instance.
func (p *Processes) Signal(i int, sig os.Signal) error { return p.Nodes()[i].Signal(sig) }

// Restart starts node i again, on its port and its data; see Await.
func (p *Processes) Restart(i int) error {
	p.Nodes()[i].Kill()
	return p.Nodes()[i].Launch()
}

// Await returns when each node that runs answers, and all of them take streams.
func (p *Processes) Await(ctx context.Context) error {
	var running []int
	for i, n := range p.Nodes() {
		if n.Running() {
			running = append(running, i)
		}
	}
	return p.Cluster.Await(ctx, running...)
}

// tryName is a stream that is made and removed.
const tryName = "ROTA_READY"

func try(p plan, replicas int) error {
	c, err := nc.Connect(p.url(), nc.NoReconnect(), nc.Timeout(time.Second))
	if err != nil {
		return err
	}
	defer c.Close()
	if err := ask(c, "INFO", ""); err != nil || replicas == 1 {
		return err
	}
	stream := fmt.Sprintf(`{"name":%q,"subjects":[%q],"storage":"memory","num_replicas":%d}`, tryName, "rota.ready",
		replicas)
	return errors.Join(ask(c, "STREAM.CREATE."+tryName, stream), ask(c, "STREAM.DELETE."+tryName, ""))
}

func ask(c *nc.Conn, call, request string) error {
	m, err := c.Request("$JS.API."+call, []byte(request), 5*time.Second)
	if err != nil {
		return err
	}
	var answer struct {
		Error *struct {
			Description string `json:"description"`
		} `json:"error"`
	}
	if err := json.Unmarshal(m.Data, &answer); err != nil {
		return err
	}
	if answer.Error != nil {
		return fmt.Errorf("JetStream: %s", answer.Error.Description)
	}
	return nil
}

// Messages is how many messages a node has got from its clients since it started, by its own count: requests, writes,
// and what acknowledges deliveries. Options.Monitor must be set.
func (p *Processes) Messages(ctx context.Context, i int) (uint64, error) {
	watch := p.Nodes()[i].Watch
	if watch == 0 {
		return 0, errors.New("count messages: Options.Monitor is not set")
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet,
		"http://"+net.JoinHostPort(loopback, strconv.Itoa(watch))+"/varz", http.NoBody)
	if err != nil {
		return 0, fmt.Errorf("count messages: %w", err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, fmt.Errorf("count messages: %w", err)
	}
	defer resp.Body.Close()
	var answer struct {
		InMsgs *uint64 `json:"in_msgs"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		return 0, fmt.Errorf("count messages: %w", err)
	}
	if answer.InMsgs == nil {
		return 0, fmt.Errorf("count messages: %s says nothing of in_msgs (%s)", req.URL, resp.Status)
	}
	return *answer.InMsgs, nil
}
