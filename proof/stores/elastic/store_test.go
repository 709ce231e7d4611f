package elastic_test

import (
	"context"
	"net/http"
	"os"
	"testing"
	"time"

	server "github.com/rota-run/rota/proof/server/elastic"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store/elastic"
	"github.com/rota-run/rota/store/storetest"
)

// shared is the server of one kind for all tests that need nothing special; each test has its own index.
type shared struct {
	rig.Shared[*server.Cluster]
	kind server.Kind
}

func sharing(kind server.Kind) *shared {
	start := func(ctx context.Context) (*server.Cluster, error) {
		return server.Start(ctx, server.Options{Kind: kind})
	}
	return &shared{rig.Shared[*server.Cluster]{Start: start, Require: server.Require}, kind}
}

var elasticsearch, opensearch = sharing(server.Elasticsearch), sharing(server.OpenSearch)

func TestMain(m *testing.M) { os.Exit(elasticsearch.Run(m, opensearch)) }

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
	return rig.Own(t, so.Kind.Variable, server.Require,
		func(ctx context.Context) (*server.Cluster, error) { return server.Start(ctx, so) })
}

// on are the options of a store of its own on servers. Its index is removed at the end: a small server does not bear
// hundreds of them.
func on(t testing.TB, servers []string) elastic.Options {
	t.Helper()
	o := elastic.Options{Servers: servers, Index: "test-" + elasticsearch.Name(), Timeout: 20 * time.Second}
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
func (s *shared) options(t testing.TB) elastic.Options { return on(t, s.Server(t).Servers()) }

// place is how tests reach a shared server, or another one.
func (s *shared) place() rig.Place[elastic.Options, *elastic.Store] {
	return rig.Place[elastic.Options, *elastic.Store]{
		Open: elastic.Open, TTL: 2 * time.Second, Fresh: s.options,
		Hosts: func(o elastic.Options) []string { return o.Servers },
		At:    func(o elastic.Options, servers ...string) elastic.Options { o.Servers = servers; return o },
	}
}

func openWith(t testing.TB, o elastic.Options) *elastic.Store {
	t.Helper()
	return elasticsearch.place().With(t, o)
}

func TestDocs(t *testing.T) {
	each(t, func(t *testing.T, s *shared) { storetest.Docs(t, s.place().Empty) })
}

func TestGetMany(t *testing.T) {
	each(t, func(t *testing.T, s *shared) { storetest.GetMany(t, s.place().Empty) })
}

func TestLog(t *testing.T) {
	each(t, func(t *testing.T, s *shared) { storetest.Log(t, s.place().Empty) })
}

func TestSeed(t *testing.T) {
	each(t, func(t *testing.T, s *shared) { storetest.Seed(t, s.place().Empty) })
}
