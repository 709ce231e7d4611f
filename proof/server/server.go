// Package server starts a server of one kind or another, to test and to play with.
//
// # Purpose
//
// Tests of the command, and chaos, do the same things to each kind of store on a server: start it, kill it, start it again with its data. What is special about
// one of them stands in its own package below.
package server

import (
	"context"
	"errors"
	"fmt"

	"github.com/rota-run/rota/proof/server/elastic"
	"github.com/rota-run/rota/proof/server/etcd"
	"github.com/rota-run/rota/proof/server/kafka"
	"github.com/rota-run/rota/proof/server/nats"
	"github.com/rota-run/rota/proof/server/postgres"
	"github.com/rota-run/rota/proof/server/zookeeper"
)

// Kinds are those that there are, by the schemes of their URLs.
func Kinds() []string { return []string{"elastic", "etcd", "kafka", "nats", "postgres", "zookeeper"} }

// All are the kinds, and those that have the scheme of another one.
func All() []string { return append(Kinds(), "opensearch") }

// Child makes this process a server if [Spawn] started it as one; then it returns true when that has ended, and the program should end. A program
// that calls Spawn calls Child before all else.
func Child() bool { return etcd.Child() || nats.Child() }

// Server is one that runs in a process of its own. Its functions are for one goroutine at a time.
type Server struct {
	URL     string // of the store, without the place of a cluster
	Kill    func() error
	Restart func(ctx context.Context) error // after Kill: with its data, on its port; returns when it serves
	Stop    func()
	// Requests is how many messages the server has got from all its clients since it started, by its own count, signs of life included; of PostgreSQL, how
	// many transactions they have made; nil where the server does not say that to clients.
	Requests func(ctx context.Context) (uint64, error)
}

// ErrMissing says that this machine has nothing to start such a server with.
var ErrMissing = errors.New("the server can't be started here")

// Spawn starts a server with its data in a directory. ctx bounds the start alone. Stop it.
func Spawn(ctx context.Context, kind, dir string) (*Server, error) {
	switch kind {
	case "elastic":
		return spawnElastic(ctx, elastic.Elasticsearch, dir)
	case "opensearch":
		return spawnElastic(ctx, elastic.OpenSearch, dir)
	case "etcd":
		return spawnEtcd(ctx, dir)
	case "kafka":
		return spawnKafka(ctx, dir)
	case "nats":
		return spawnNATS(ctx, dir)
	case "postgres":
		return spawnPostgres(ctx, dir)
	case "zookeeper":
		return spawnZooKeeper(ctx, dir)
	}
	return nil, fmt.Errorf("there is no server of kind %q", kind)
}

func spawnElastic(ctx context.Context, kind elastic.Kind, dir string) (*Server, error) {
	c, err := elastic.Start(ctx, elastic.Options{Kind: kind, Dir: dir})
	if _, ok := errors.AsType[*elastic.MissingError](err); ok {
		return nil, fmt.Errorf("%w: %w", ErrMissing, err)
	}
	if err != nil {
		return nil, err
	}
	return &Server{
		URL: c.URL(""), Kill: func() error { return c.Kill(0) }, Restart: func(ctx context.Context) error { return c.Restart(ctx, 0) }, Stop: c.Stop,
		Requests: func(ctx context.Context) (uint64, error) { return c.Requests(ctx, 0) },
	}, nil
}

func spawnEtcd(ctx context.Context, dir string) (*Server, error) {
	c, err := etcd.StartCluster(ctx, etcd.Options{Dir: dir})
	if err != nil {
		return nil, err
	}
	kill := func() error { c.Kill(0); return nil }
	return &Server{
		URL: c.URL(), Kill: kill, Restart: func(ctx context.Context) error { return c.Restart(ctx, 0) }, Stop: c.Stop,
		Requests: func(ctx context.Context) (uint64, error) { return c.Messages(ctx, 0) },
	}, nil
}

func spawnKafka(ctx context.Context, dir string) (*Server, error) {
	c, err := kafka.Start(ctx, kafka.Options{Dir: dir})
	if _, ok := errors.AsType[*kafka.MissingError](err); ok {
		return nil, fmt.Errorf("%w: %w; or set %s to the address of a broker", ErrMissing, err, kafka.Variable)
	}
	if err != nil {
		return nil, err
	}
	return &Server{
		URL: c.URL(""), Kill: func() error { return c.Kill(0) }, Restart: func(ctx context.Context) error { return c.Restart(ctx, 0) }, Stop: c.Stop,
	}, nil
}

func spawnNATS(ctx context.Context, dir string) (*Server, error) {
	c, err := nats.Spawn(ctx, nats.Options{Dir: dir, Monitor: true})
	if err != nil {
		return nil, err
	}
	kill := func() error { c.Kill(0); return nil }
	restart := func(ctx context.Context) error {
		if err := c.Restart(0); err != nil {
			return err
		}
		return c.Await(ctx)
	}
	return &Server{
		URL: c.URL(), Kill: kill, Restart: restart, Stop: c.Stop,
		Requests: func(ctx context.Context) (uint64, error) { return c.Messages(ctx, 0) },
	}, nil
}

func spawnPostgres(ctx context.Context, dir string) (*Server, error) {
	s, err := postgres.Start(ctx, postgres.Options{Dir: dir})
	if _, ok := errors.AsType[*postgres.MissingError](err); ok {
		return nil, fmt.Errorf("%w: %w", ErrMissing, err)
	}
	if err != nil {
		return nil, err
	}
	return &Server{URL: s.URL(), Kill: s.Kill, Restart: s.Restart, Stop: s.Stop, Requests: s.Transactions}, nil
}

func spawnZooKeeper(ctx context.Context, dir string) (*Server, error) {
	c, err := zookeeper.Start(ctx, zookeeper.Options{Dir: dir})
	if _, ok := errors.AsType[*zookeeper.MissingError](err); ok {
		return nil, fmt.Errorf("%w: %w; or set %s to the address of a server", ErrMissing, err, zookeeper.Variable)
	}
	if err != nil {
		return nil, err
	}
	return &Server{
		URL: c.URL(""), Kill: func() error { return c.Kill(0) }, Restart: func(ctx context.Context) error { return c.Restart(ctx, 0) }, Stop: c.Stop,
		Requests: func(ctx context.Context) (uint64, error) { return c.Packets(ctx, 0) },
	}, nil
}
