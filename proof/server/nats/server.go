package nats

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// syncInterval has no meaning beside SyncAlways, but must not be zero.
const syncInterval = 2 * time.Minute

// attempts is how often other ports are tried.
const attempts = 3

// poll is how often a starting node is asked whether it is ready.
const poll = 5 * time.Millisecond

// Server is a running server, of one node or several, in this process.
type Server struct {
	plans   []plan
	nodes   []*server.Server
	release func() // gives up the ports
}

// Start runs a server and returns when it can be used, or with the reason why not; ctx bounds the start alone. Stop it.
func Start(ctx context.Context, o Options) (*Server, error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, fmt.Errorf("start NATS server: %w", err)
	}
	var err error
	for range attempts {
		var s *Server
		if s, err = start(ctx, o); err == nil {
			return s, nil
		}
		if ctx.Err() != nil || o.Port != 0 {
			break
		}
	}
	return nil, fmt.Errorf("start NATS server in %s: %w", o.Dir, err)
}

func start(ctx context.Context, o Options) (*Server, error) {
	all, release, err := plans(o)
	if err != nil {
		return nil, err
	}
	s := &Server{plans: all, nodes: make([]*server.Server, len(all)), release: sync.OnceFunc(release)}
	for i := range all {
		if s.nodes[i], err = launch(all[i]); err != nil {
			s.Stop()
			return nil, err
		}
	}
	if err := s.await(ctx); err != nil {
		s.Stop()
		return nil, err
	}
	return s, nil
}

// launch starts one node. A port that is taken shows only in that the node never becomes ready.
func launch(p plan) (*server.Server, error) {
	n, err := server.NewServer(p.options())
	if err != nil {
		return nil, fmt.Errorf("node %s: %w", p.Name, err)
	}
	go n.Start() // returns once the node listens; Shutdown ends all that it began
	return n, nil
}

func (s *Server) await(ctx context.Context) error {
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for !s.ready() {
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait until it can be used: %w", context.Cause(ctx))
		case <-tick.C:
		}
		for _, n := range s.nodes {
			if !n.Running() && n.Addr() != nil {
				return errors.New("a node ended while starting: is its port taken, or its directory not writable?")
			}
		}
	}
	if len(s.nodes) == 1 {
		return nil
	}
	return awaitNode(ctx, s.plans[0], len(s.nodes))
}

func (s *Server) ready() bool {
	leader := false
	for _, n := range s.nodes {
		if !n.ReadyForConnections(time.Millisecond) || !n.JetStreamEnabled() {
			return false
		}
		if len(s.nodes) > 1 && !n.JetStreamIsCurrent() {
			return false
		}
		leader = leader || n.JetStreamIsLeader()
	}
	return leader || len(s.nodes) == 1
}

// URL is what a client connects to: the addresses of all nodes, with commas between them.
func (s *Server) URL() string { return join(s.plans) }

// URLs are the addresses of the nodes, one by one.
func (s *Server) URLs() []string { return urls(s.plans) }

// Stop ends all nodes and returns when they have ended. Their data stays. A second call does nothing.
func (s *Server) Stop() {
	for _, n := range slices.Backward(s.nodes) {
		if n != nil {
			n.Shutdown()
		}
	}
	for _, n := range s.nodes {
		if n != nil {
			n.WaitForShutdown()
		}
	}
	s.release()
}

func urls(all []plan) []string {
	out := make([]string, len(all))
	for i, p := range all {
		out[i] = p.url()
	}
	return out
}

func join(all []plan) string { return strings.Join(urls(all), ",") }
