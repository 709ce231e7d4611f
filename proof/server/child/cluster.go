// Package child starts servers that are processes of their own, for tests.
//
// # Purpose
//
// What the packages of all kinds of servers have in common is here: a process that dies with its test, the wait until
// it serves, a cluster of them, a node that is this program again (etcd, NATS), files that Maven resolves once, and the
// verdict on a machine that lacks a server.
package child

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/rota-run/rota/internal/proof/port"
)

// Node is one server of a [Cluster]: its folder, its ports, and its process while it lives.
type Node interface {
	// Launch starts its process, with its data and its ports.
	Launch() error
	// Ready waits until it serves, as one of so many that run.
	Ready(ctx context.Context, running int) error
	// What [Server] has.
	Addr() string
	Running() bool
	Kill()
	Pause() error
	Resume() error
}

// Cluster is servers of one kind. It is not safe for concurrent use.
type Cluster[N Node] struct {
	nodes   []N
	addrs   []string // of servers that were not started here
	dir     string   // removed by Stop; "": kept
	release func()   // gives up the ports; nil before they were found, and after
}

// ErrExternal refuses to kill servers that were not started here.
var ErrExternal = errors.New("the servers are not ours to stop")

// External is the cluster at the addresses that a variable of the environment has, host:port,host:port, if it has some.
func External[N Node](variable string) (c Cluster[N], ok bool) {
	list := os.Getenv(variable)
	return Cluster[N]{addrs: strings.Split(list, ",")}, list != ""
}

// Plan makes the nodes of a cluster and their folders below dir, and finds their ports, which are kept until release.
type Plan[N Node] func(dir string) (nodes []N, release func(), err error)

// Run starts the servers of a plan and returns when all serve. Their data is below dir; "" is a temporary folder of
// this name, which Stop removes. It tries again a few times where somebody has taken one of the ports.
func Run[N Node](ctx context.Context, dir, name string, plan Plan[N]) (Cluster[N], error) {
	for attempt := 0; ; attempt++ {
		c, err := run(ctx, dir, name, plan)
		if err == nil || attempt == 4 || !errors.Is(err, ErrExited) {
			return c, err
		}
	}
}

func run[N Node](ctx context.Context, dir, name string, plan Plan[N]) (c Cluster[N], err error) {
	if dir == "" {
		if dir, err = os.MkdirTemp("", "rota-"+name+"-"); err != nil {
			return c, fmt.Errorf("make a folder for the servers: %w", err)
		}
		c.dir = dir
	}
	defer func() {
		if err != nil {
			c.Stop()
		}
	}()
	if c.nodes, c.release, err = plan(dir); err != nil {
		return c, fmt.Errorf("write the folders of the servers: %w", err)
	}
	all := make([]int, len(c.nodes))
	for i := range all {
		all[i] = i
	}
	return c, c.Restart(ctx, all...)
}

// Nodes are the servers that were started here.
func (c *Cluster[N]) Nodes() []N { return c.nodes }

// Servers returns the addresses of all servers, host:port.
func (c *Cluster[N]) Servers() []string {
	addrs := slices.Clone(c.addrs)
	for _, n := range c.nodes {
		addrs = append(addrs, n.Addr())
	}
	return addrs
}

// Kill kills server i, counted from 0, as kill -9 does. It returns when the process is gone.
func (c *Cluster[N]) Kill(i int) error {
	if len(c.nodes) == 0 {
		return ErrExternal
	}
	c.nodes[i].Kill()
	return nil
}

// Restart starts servers that were killed, with their data and their ports, and returns when they serve together with
// those that run.
func (c *Cluster[N]) Restart(ctx context.Context, nodes ...int) error {
	for _, i := range nodes {
		if err := c.nodes[i].Launch(); err != nil {
			return fmt.Errorf("start a server: %w", err)
		}
	}
	return c.Await(ctx, nodes...)
}

// Await waits until some servers serve together with those that run.
func (c *Cluster[N]) Await(ctx context.Context, nodes ...int) error {
	running := len(slices.DeleteFunc(slices.Clone(c.nodes), func(n N) bool { return !n.Running() }))
	for _, i := range nodes {
		if err := c.nodes[i].Ready(ctx, running); err != nil {
			return err
		}
	}
	return nil
}

// First waits until a server that runs fits, and returns its number. what says in errors what is awaited.
func (c *Cluster[N]) First(ctx context.Context, what string, fits func(n N) bool) (int, error) {
	for {
		if i := slices.IndexFunc(c.nodes, func(n N) bool { return n.Running() && fits(n) }); i >= 0 {
			return i, nil
		}
		select {
		case <-ctx.Done():
			return 0, fmt.Errorf("wait for %s: %w", what, context.Cause(ctx))
		case <-time.After(20 * time.Millisecond): // no event says when it is elected
		}
	}
}

// Pause stops server i as a machine does that is suspended: its connections stay, and nobody answers.
func (c *Cluster[N]) Pause(i int) error { return c.nodes[i].Pause() }

// Resume lets server i go on that was paused.
func (c *Cluster[N]) Resume(i int) error { return c.nodes[i].Resume() }

// Stop kills all servers that were started here, and removes a temporary folder. It may be called again.
func (c *Cluster[N]) Stop() {
	for _, n := range c.nodes {
		n.Kill()
	}
	if c.release != nil {
		c.release() // only now: a server that is started again needs its ports
		c.release = nil
	}
	if c.dir != "" {
		_ = os.RemoveAll(c.dir) // it is a temporary one
	}
}

// Ports returns ports that nobody uses, nor gets before release.
func Ports(n int) (ports []int, release func(), err error) {
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
