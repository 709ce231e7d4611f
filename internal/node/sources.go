package node

import (
	"context"
	"sync"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/source/directory"
	"github.com/rota-run/rota/internal/wait"
	"github.com/rota-run/rota/journal"
	"github.com/rota-run/rota/work"
)

// sources are what a node does for the sources that it declares.
type sources struct {
	n      *Node
	names  []string      // sorted
	joined chan struct{} // closed when the member has joined for the first time
	once   sync.Once
}

func newSources(n *Node) *sources {
	if n.c.Cache == nil {
		n.c.Cache = directory.NewCache()
	}
	return &sources{n: n, names: directory.Names(n.c.Sources, n.c.Files), joined: make(chan struct{})}
}

func (s *sources) admitted() { s.once.Do(func() { close(s.joined) }) }

// config is what the sources work with.
func (s *sources) config() directory.Config {
	return directory.Config{
		Dirs: s.n.c.Sources, Files: s.n.c.Files, Member: s.n.c.Member, Docs: s.n.c.Store, Cache: s.n.c.Cache,
		Incarnation: s.present, Types: func() work.Types { return s.n.c.Types },
		Value: s.n.member.Value, Propose: s.n.member.Propose, Journal: s.record,
	}
}

// record journals what the source says, and counts it.
func (s *sources) record(r journal.Record) {
	s.n.stats.definition(r)
	s.n.record(r)
}

// present is the incarnation of this member, once the value here has it. A member that was confirmed under another
// heartbeat has another one.
func (s *sources) present() (cluster.Incarnation, bool) {
	inc, _ := s.n.member.Tenure()
	m, ok := s.n.member.Value().Member(s.n.c.Member)
	return inc, ok && inc != 0 && m.Incarnation == inc
}

// publish keeps the inventories of this member's copies up to date, from when it has joined.
func (s *sources) publish(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-s.joined:
		s.config().Publish(ctx, s.n.c.Logger)
	}
}

// declare submits the jobs of the sources. Submitting one that exists does nothing.
func (s *sources) declare(ctx context.Context) {
	for _, name := range s.names {
		for {
			res, err := s.n.member.Propose(ctx, directory.Job(name))
			if err == nil {
				if !res[0].Accepted {
					s.n.record(journal.Record{Kind: journal.Refused, Message: "source " + name + ": " + res[0].Reason})
				}
				break
			}
			if !wait.For(ctx, time.Second) {
				return
			}
		}
	}
}
