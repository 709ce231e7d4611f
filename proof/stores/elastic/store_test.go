package elastic_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/protocol/lease"
	"github.com/rota-run/rota/internal/protocol/replica"
	"github.com/rota-run/rota/lock/fence"
	"github.com/rota-run/rota/lock/locktest"
	server "github.com/rota-run/rota/proof/server/elastic"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/protocol/protocoltest"
	"github.com/rota-run/rota/store/driver/drivertest"
	"github.com/rota-run/rota/store/elastic"
	"github.com/rota-run/rota/store/engine"
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

// newest tells changes of the row of the tests apart.
func newest(t *testing.T, o elastic.Options) func() any {
	return func() any {
		status, text := rest(t, o.Servers, "GET", "/"+o.Index+"/_doc/%2Fk?_source=false", "")
		return fmt.Sprint(status, " ", string(text))
	}
}

// TestDriver: the driver keeps the promises of package driver, over real servers.
func TestDriver(t *testing.T) {
	each(t, func(t *testing.T, s *shared) {
		s.Server(t) // it may take longer to start than a test may take
		hurry := func(o *elastic.Options) { o.Timeout = 2 * time.Second }
		rig.Documents(t, s.place(), elastic.OpenDriver, func(t *testing.T) (_, _ engine.Driver, _ drivertest.Link) {
			return rig.ThroughLink(t, s.place(), elastic.OpenDriver, hurry, newest)
		})
	})
}

func TestFaults(t *testing.T) {
	each(t, func(t *testing.T, s *shared) {
		t.Run("docs", func(t *testing.T) { t.Parallel(); storetest.DocsFaults(t, s.place().Reach) })
		t.Run("log", func(t *testing.T) { t.Parallel(); storetest.LogFaults(t, s.place().Reach) })
	})
}

// TestServerKilled gives each store a server of its own, which is killed with SIGKILL and started again with its data.
func TestServerKilled(t *testing.T) {
	each(t, func(t *testing.T, s *shared) {
		s.place().Crashes(t, func(t *testing.T) (elastic.Options, func(*testing.T)) {
			c := startCluster(t, server.Options{Kind: s.kind})
			return on(t, c.Servers()), func(t *testing.T) {
				must.Succeed(t, c.Kill(0))
				must.Succeed(t, c.Restart(rig.LongDeadline(t), 0))
			}
		})
	})
}

func TestStories(t *testing.T) {
	each(t, func(t *testing.T, s *shared) { protocoltest.Run(t, s.place().Members(replica.Protocol{})) })
}

// TestStorm runs members whose links to a real server break at random.
func TestStorm(t *testing.T) {
	each(t, func(t *testing.T, s *shared) { protocoltest.Storm(t, s.place().Members(replica.Protocol{})) })
}

// TestStoriesOfLease runs the stories of the protocol of claims.
func TestStoriesOfLease(t *testing.T) {
	each(t, func(t *testing.T, s *shared) {
		setup := s.place().Members(lease.Protocol{})
		setup.TTL = 4 * time.Second
		protocoltest.Run(t, setup)
	})
}

// TestStormOfLease runs its members whose links to a real server break at random.
func TestStormOfLease(t *testing.T) {
	each(t, func(t *testing.T, s *shared) { protocoltest.Storm(t, s.place().Members(lease.Protocol{})) })
}

func TestLocks(t *testing.T) {
	each(t, func(t *testing.T, s *shared) { locktest.Run(t, s.place().Empty) })
}

// TestFencedDocument: a server refuses what a former owner writes or deletes.
func TestFencedDocument(t *testing.T) {
	each(t, func(t *testing.T, s *shared) {
		servers := s.Server(t).Servers()
		path := "/" + on(t, servers).Index + "/_doc/report"
		write := func(token cluster.Token) int {
			status, _ := rest(t, servers, http.MethodPut, path+"?"+fence.Elastic(token).Encode(),
				fmt.Sprintf(`{"by":%d}`, token))
			return status
		}
		if got := []int{write(7), write(7), write(9), write(7)}; !slices.Equal(got, []int{201, 200, 200, 409}) {
			t.Errorf("the tokens 7, 7, 9, 7 are answered %v", got)
		}
		if status, _ := rest(t, servers, http.MethodDelete, path+"?"+fence.Elastic(7).Encode(),
			""); status != http.StatusConflict {
			t.Errorf("a delete of a former owner is answered %d", status)
		}
		if _, text := rest(t, servers, http.MethodGet, path, ""); !strings.Contains(string(text), `"by":9`) {
			t.Errorf("the document is %s", text)
		}
	})
}
