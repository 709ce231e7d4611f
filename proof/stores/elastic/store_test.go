package elastic_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	server "github.com/rota-run/rota/proof/server/elastic"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store/elastic"
	"github.com/rota-run/rota/store/storetest"
)

// shared is the server of one kind for all tests that need nothing special; each test has its own index.
type shared struct {
	kind    server.Kind
	once    sync.Once
	cluster *server.Cluster
	err     error
}

var (
	elasticsearch = &shared{kind: server.Elasticsearch}
	opensearch    = &shared{kind: server.OpenSearch}
	indexes       atomic.Int64
)

func TestMain(m *testing.M) {
	code := m.Run()
	for _, s := range []*shared{elasticsearch, opensearch} {
		if s.cluster != nil {
			s.cluster.Stop()
		}
	}
	if err := rig.Leaks(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// servers returns the addresses of the shared server, which it starts the first time.
func (s *shared) servers(t testing.TB) []string {
	t.Helper()
	s.once.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), rig.LongPatience)
		defer cancel()
		s.cluster, s.err = server.Start(ctx, server.Options{Kind: s.kind})
	})
	server.Require(t, s.err)
	return s.cluster.Servers()
}

// each runs a test on servers of both kinds at once: mostly it waits.
func each(t *testing.T, test func(t *testing.T, s *shared)) {
	t.Helper()
	t.Parallel()
	for _, s := range []*shared{elasticsearch, opensearch} {
		t.Run(s.kind.Name, func(t *testing.T) { t.Parallel(); test(t, s) })
	}
}

// startCluster starts servers that belong to the test alone.
func startCluster(t *testing.T, so server.Options) *server.Cluster {
	t.Helper()
	rig.MayKill(t, so.Kind.Variable)
	c, err := server.Start(rig.LongDeadline(t), so)
	server.Require(t, err)
	t.Cleanup(c.Stop)
	return c
}

// on are the options of a store of its own on servers. Its index is removed at the end: a small server does not bear hundreds of them.
func on(t testing.TB, servers []string) elastic.Options {
	t.Helper()
	o := elastic.Options{Servers: servers, Index: fmt.Sprintf("test-%d-%d", os.Getpid(), indexes.Add(1)), Timeout: 20 * time.Second}
	t.Cleanup(func() { drop(t, servers, o.Index) })
	return o
}

// drop removes an index, if a server answers.
func drop(t testing.TB, servers []string, index string) {
	req, err := http.NewRequestWithContext(rig.Deadline(t), http.MethodDelete, "http://"+servers[0]+"/"+index, nil)
	if err != nil {
		t.Error(err)
		return
	}
	req.Close = true
	if resp, err := http.DefaultClient.Do(req); err == nil {
		resp.Body.Close()
	}
}

// options are those of a store of its own on the shared server.
func (s *shared) options(t testing.TB) elastic.Options { return on(t, s.servers(t)) }

// through returns options of the same store, which is reached through other addresses.
func through(o elastic.Options, servers ...string) elastic.Options {
	o.Servers = servers
	return o
}

func opening(o elastic.Options) func(context.Context) (*elastic.Store, error) {
	return func(ctx context.Context) (*elastic.Store, error) { return elastic.Open(ctx, o) }
}

func openWith(t testing.TB, o elastic.Options) *elastic.Store {
	t.Helper()
	return rig.Open(t, opening(o))
}

// fresh makes an empty store.
func (s *shared) fresh(t *testing.T) func(t *testing.T) *elastic.Store {
	o := s.options(t)
	return func(t *testing.T) *elastic.Store { return openWith(t, o) }
}

func TestDocs(t *testing.T) {
	each(t, func(t *testing.T, s *shared) { storetest.Docs(t, s.fresh) })
}

func TestGetMany(t *testing.T) {
	each(t, func(t *testing.T, s *shared) { storetest.GetMany(t, s.fresh) })
}

func TestLog(t *testing.T) {
	each(t, func(t *testing.T, s *shared) { storetest.Log(t, s.fresh) })
}

func TestSeed(t *testing.T) {
	each(t, func(t *testing.T, s *shared) { storetest.Seed(t, s.fresh) })
}
