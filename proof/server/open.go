package server

import (
	"context"
	"fmt"
	"strings"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/elastic"
	"github.com/rota-run/rota/store/etcd"
	"github.com/rota-run/rota/store/kafka"
	"github.com/rota-run/rota/store/nats"
	"github.com/rota-run/rota/store/postgres"
	"github.com/rota-run/rota/store/zookeeper"
)

// Hosts are the addresses of the server, host:port.
func (s *Server) Hosts() []string {
	_, hosts, _ := strings.Cut(s.URL, "://")
	hosts, _, _ = strings.Cut(hosts, "/") // of a database
	return strings.Split(hosts, ",")
}

// nodes are the URLs of the server's nodes.
func (s *Server) nodes() []string {
	out := s.Hosts()
	for i, h := range out {
		out[i] = "nats://" + h
	}
	return out
}

// Open opens the store on this server that has a name, of letters and digits: the one that members with --store URL/name use.
func (s *Server) Open(ctx context.Context, name string, readOnly bool) (store.Full, error) {
	switch scheme, _, _ := strings.Cut(s.URL, "://"); scheme {
	case "etcd":
		return opened(etcd.Open(ctx, etcd.Options{Endpoints: s.Hosts(), Prefix: name, ReadOnly: readOnly}))
	case "kafka":
		return opened(kafka.Open(ctx, kafka.Options{Brokers: s.Hosts(), Name: name, ReadOnly: readOnly}))
	case "nats":
		return opened(nats.Open(ctx, nats.Options{URLs: s.nodes(), Bucket: name, ReadOnly: readOnly}))
	case "postgres":
		return opened(postgres.Open(ctx, postgres.Options{Hosts: s.Hosts(), Schema: name, ReadOnly: readOnly}))
	case "zookeeper":
		return opened(zookeeper.Open(ctx, zookeeper.Options{Servers: s.Hosts(), Path: "/" + name, ReadOnly: readOnly}))
	case "elastic":
		return opened(elastic.Open(ctx, elastic.Options{Servers: s.Hosts(), Index: name, ReadOnly: readOnly}))
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
