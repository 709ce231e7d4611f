// Package server starts a server of one kind or another, to test and to play with.
//
// # Purpose
//
// Tests of the command, and chaos, do the same things to each kind of store on a server: start it, kill it, start it
// again with its data. What is special about one of them stands in its own package below.
package server

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/rota-run/rota/proof/server/child"
	"github.com/rota-run/rota/proof/server/elastic"
	"github.com/rota-run/rota/proof/server/etcd"
	"github.com/rota-run/rota/proof/server/kafka"
	"github.com/rota-run/rota/proof/server/nats"
	"github.com/rota-run/rota/proof/server/postgres"
	"github.com/rota-run/rota/proof/server/zookeeper"
	"github.com/rota-run/rota/store"
	elasticstore "github.com/rota-run/rota/store/elastic"
	etcdstore "github.com/rota-run/rota/store/etcd"
	kafkastore "github.com/rota-run/rota/store/kafka"
	natsstore "github.com/rota-run/rota/store/nats"
	postgresstore "github.com/rota-run/rota/store/postgres"
	zookeeperstore "github.com/rota-run/rota/store/zookeeper"
)

// Kinds are those that there are, by the schemes of their URLs.
func Kinds() []string { return []string{"elastic", "etcd", "kafka", "nats", "postgres", "zookeeper"} }

// All are the kinds, and those that have the scheme of another one.
func All() []string { return append(Kinds(), "opensearch") }

// Child makes this process a server if [Spawn] started it as one; then it returns true when that has ended, and the
// program should end. A program that calls Spawn calls Child before all else.
func Child() bool { return etcd.Child() || nats.Child() }

// Server is one that runs in a process of its own. Its functions are for one goroutine at a time.
type Server struct {
	URL         string                                 // of the store, without the place of a cluster
	Nodes       int                                    // how many it has
	KillNode    func(i int) error                      // kills a node, counted from 0
	RestartNode func(ctx context.Context, i int) error // after KillNode: with its data, on its port; returns when it serves
	Stop        func()
	// Requests is how many messages the server has got from all its clients since it started, by its own count, signs
	// of life included; of PostgreSQL, how many transactions they have made; nil where the server does not say that to
	// clients.
	Requests func(ctx context.Context) (uint64, error)
}

// ErrMissing says that this machine has nothing to start such a server with.
var ErrMissing = errors.New("the server can't be started here")

// Kill kills the first node: the server, if it has one alone.
func (s *Server) Kill() error { return s.KillNode(0) }

// Restart starts the first node again, after Kill.
func (s *Server) Restart(ctx context.Context) error { return s.RestartNode(ctx, 0) }

// Spawn starts a server of one node with its data in a directory. ctx bounds the start alone. Stop it.
func Spawn(ctx context.Context, kind, dir string) (*Server, error) {
	return SpawnNodes(ctx, kind, dir, 1)
}

// SpawnNodes is Spawn for one node or three. PostgreSQL has one.
func SpawnNodes(ctx context.Context, kind, dir string, nodes int) (*Server, error) {
	s, err := spawn(ctx, kind, dir, nodes)
	if _, ok := errors.AsType[*child.MissingError](err); ok {
		return nil, fmt.Errorf("%w: %w", ErrMissing, err)
	}
	return s, err
}

func spawn(ctx context.Context, kind, dir string, nodes int) (*Server, error) {
	switch kind {
	case "elastic":
		c, err := elastic.Start(ctx, elastic.Options{Kind: elastic.Elasticsearch, Dir: dir, Nodes: nodes})
		return of(c, err, nodes, (*elastic.Cluster).Requests)
	case "opensearch":
		c, err := elastic.Start(ctx, elastic.Options{Kind: elastic.OpenSearch, Dir: dir, Nodes: nodes})
		return of(c, err, nodes, (*elastic.Cluster).Requests)
	case "etcd":
		c, err := etcd.StartCluster(ctx, etcd.Options{Dir: dir, Nodes: nodes})
		return of(c, err, nodes, (*etcd.Cluster).Messages)
	case "kafka":
		c, err := kafka.Start(ctx, kafka.Options{Dir: dir, Nodes: nodes})
		return of(c, err, nodes, nil)
	case "nats":
		c, err := nats.Spawn(ctx, nats.Options{Dir: dir, Nodes: nodes, Monitor: true})
		if err != nil {
			return nil, err
		}
		return &Server{
			URL: c.URL(), Nodes: nodes, KillNode: c.Kill,
			RestartNode: func(ctx context.Context, i int) error { return c.Cluster.Restart(ctx, i) }, Stop: c.Stop,
			Requests: func(ctx context.Context) (uint64, error) { return c.Messages(ctx, 0) },
		}, nil
	case "postgres":
		if nodes != 1 {
			return nil, errors.New("postgres has one node")
		}
		s, err := postgres.Start(ctx, postgres.Options{Dir: dir})
		if err != nil {
			return nil, err
		}
		return &Server{
			URL: s.URL(), Nodes: 1, KillNode: func(int) error { return s.Kill() },
			RestartNode: func(ctx context.Context, _ int) error { return s.Restart(ctx) }, Stop: s.Stop,
			Requests: s.Transactions,
		}, nil
	case "zookeeper":
		c, err := zookeeper.Start(ctx, zookeeper.Options{Dir: dir, Nodes: nodes})
		return of(c, err, nodes, (*zookeeper.Cluster).Packets)
	}
	return nil, fmt.Errorf("there is no server of kind %q", kind)
}

// of is the server that a cluster of nodes makes up.
func of[C interface {
	URL(path string) string
	Kill(i int) error
	Restart(ctx context.Context, nodes ...int) error
	Stop()
}](c C, err error, nodes int, requests func(c C, ctx context.Context, i int) (uint64, error)) (*Server, error) {
	if err != nil {
		return nil, err
	}
	s := &Server{
		URL: c.URL(""), Nodes: nodes, KillNode: c.Kill,
		RestartNode: func(ctx context.Context, i int) error { return c.Restart(ctx, i) }, Stop: c.Stop,
	}
	if requests != nil {
		s.Requests = func(ctx context.Context) (uint64, error) { return requests(c, ctx, 0) }
	}
	return s, nil
}

// Hosts are the addresses of the server, host:port.
func (s *Server) Hosts() []string {
	_, hosts, _ := strings.Cut(s.URL, "://")
	hosts, _, _ = strings.Cut(hosts, "/") // of a database
	return strings.Split(hosts, ",")
}

// Open opens the store on this server that has a name, of letters and digits: the one that members with --store
// URL/name use.
func (s *Server) Open(ctx context.Context, name string, readOnly bool) (store.Full, error) {
	switch scheme, _, _ := strings.Cut(s.URL, "://"); scheme {
	case "etcd":
		return opened(etcdstore.Open(ctx, etcdstore.Options{Endpoints: s.Hosts(), Prefix: name, ReadOnly: readOnly}))
	case "kafka":
		return opened(kafkastore.Open(ctx, kafkastore.Options{Brokers: s.Hosts(), Name: name, ReadOnly: readOnly}))
	case "nats":
		return opened(natsstore.Open(ctx,
			natsstore.Options{URLs: strings.Split("nats://"+strings.Join(s.Hosts(), ",nats://"), ","), Bucket: name,
				ReadOnly: readOnly}))
	case "postgres":
		return opened(postgresstore.Open(ctx,
			postgresstore.Options{Hosts: s.Hosts(), Schema: name, ReadOnly: readOnly}))
	case "zookeeper":
		return opened(zookeeperstore.Open(ctx, zookeeperstore.Options{Servers: s.Hosts(), Path: "/" + name,
			ReadOnly: readOnly}))
	case "elastic":
		return opened(elasticstore.Open(ctx, elasticstore.Options{Servers: s.Hosts(), Index: name, ReadOnly: readOnly}))
	default:
		return nil, fmt.Errorf("open a store on %s: unknown kind", s.URL)
	}
}

// opened is nil where there was an error, and not one that holds a nil pointer.
func opened[S store.Full](s S, err error) (store.Full, error) {
	if err != nil {
		return nil, err
	}
	return s, nil
}
