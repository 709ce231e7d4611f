package etcd

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"syscall"

	"go.etcd.io/etcd/server/v3/embed"
)

// portAttempts is how often a start is tried when somebody else has taken a port.
const portAttempts = 5

// Server is a cluster inside this process. It is safe for concurrent use.
type Server struct {
	nodes   []node
	members []*embed.Etcd
	release func() // gives up the ports
	stop    sync.Once
}

// Start runs a fresh cluster in this process and waits until all its members serve. ctx bounds the start alone.
func Start(ctx context.Context, o Options) (*Server, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	for attempt := 1; ; attempt++ {
		s, err := start(ctx, o)
		if err == nil || attempt == portAttempts || !errors.Is(err, syscall.EADDRINUSE) {
			return s, err
		}
	}
}

func start(ctx context.Context, o Options) (*Server, error) {
	nodes, release, err := plan(o)
	if err != nil {
		return nil, err
	}
	s := &Server{nodes: nodes, release: release}
	for _, n := range nodes {
		var e *embed.Etcd
		if e, err = n.launch(); err != nil {
			break
		}
		s.members = append(s.members, e)
	}
	for _, e := range s.members {
		if err == nil {
			err = await(ctx, e)
		}
	}
	if err != nil {
		s.Stop()
		for _, n := range nodes {
			err = errors.Join(err, os.RemoveAll(n.Dir))
		}
		return nil, err
	}
	return s, nil
}

// Endpoints returns the addresses for clients, host:port.
func (s *Server) Endpoints() []string { return endpoints(s.nodes) }

// URL returns the cluster's address as a Rota store names it, without a prefix: etcd://127.0.0.1:1234.
func (s *Server) URL() string { return "etcd://" + strings.Join(s.Endpoints(), ",") }

// Stop ends all members and waits for them. A second call does nothing.
func (s *Server) Stop() {
	s.stop.Do(func() {
		var wg sync.WaitGroup
		for _, e := range s.members {
			wg.Go(e.Close)
		}
		wg.Wait()
		s.release()
	})
}

func endpoints(nodes []node) []string {
	var all []string
	for _, n := range nodes {
		all = append(all, n.Client)
	}
	return all
}
