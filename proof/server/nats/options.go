package nats

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/rota-run/rota/proof/server/child"
)

// Options of [Start] and [Spawn].
type Options struct {
	Dir   string // where nodes keep their data, one folder each; needed
	Nodes int    // 1 or 3; default 1
	Port  int    // of the only node; default: the system chooses
	// Monitor opens a port for monitoring as well, of which [Processes.Messages] asks.
	Monitor bool
	// NoSync leaves out the syncing of each write to disk: faster, and right for what nobody needs after a power cut. What was written survives the end of
	// the process all the same.
	NoSync bool
	// NoAdvertise keeps the nodes of a cluster from naming each other to clients: a client knows the addresses it was given alone, which may be proxies.
	NoAdvertise bool
	// MaxStore is how many bytes the streams may have, and MaxPayload how many a message; 0 is the server's default.
	MaxStore   int64
	MaxPayload int32
}

func (o Options) withDefaults() Options {
	if o.Nodes == 0 {
		o.Nodes = 1
	}
	return o
}

func (o Options) validate() error {
	if o.Dir == "" {
		return errors.New("no directory: give one in which the server may write")
	}
	if o.Nodes != 1 && o.Nodes != 3 {
		return fmt.Errorf("%d nodes: give 1 or 3", o.Nodes)
	}
	if o.Port != 0 && o.Nodes != 1 {
		return fmt.Errorf("port %d for %d nodes: a port can be given to one node only", o.Port, o.Nodes)
	}
	return nil
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

// plans chooses the ports of all nodes, which are kept until release. The server itself does not say what is wrong with a port or a directory: so that is
// found out here.
func plans(o Options) (_ []plan, release func(), err error) {
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, nil, err
	}
	if o.Port != 0 {
		l, err := net.Listen("tcp", net.JoinHostPort(loopback, strconv.Itoa(o.Port)))
		if err != nil {
			return nil, nil, fmt.Errorf("port %d (try another one): %w", o.Port, err)
		}
		l.Close()
	}
	ports, release, err := child.Ports(3 * o.Nodes)
	if err != nil {
		return nil, nil, err
	}
	all := make([]plan, o.Nodes)
	for i := range all {
		name := "n" + strconv.Itoa(i+1)
		all[i] = plan{Name: name, Dir: filepath.Join(o.Dir, name), NoSync: o.NoSync, Space: o.MaxStore, Most: o.MaxPayload, Hidden: o.NoAdvertise, Port: ports[i]}
		if o.Port != 0 {
			all[i].Port = o.Port
		}
		if o.Monitor {
			all[i].Watch = ports[2*o.Nodes+i]
		}
		if o.Nodes > 1 {
			all[i].Route, all[i].Routes = ports[o.Nodes+i], ports[o.Nodes:2*o.Nodes]
		}
	}
	return all, release, nil
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
