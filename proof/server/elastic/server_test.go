package elastic

import (
	"context"
	"testing"

	"github.com/rota-run/rota/proof/server/child/childtest"
)

// single starts one server of a kind.
func single(kind Kind) func(ctx context.Context) (*Cluster, error) {
	return func(ctx context.Context) (*Cluster, error) { return Start(ctx, Options{Kind: kind}) }
}

func TestSingleIsKilledAndComesBack(t *testing.T) {
	for _, kind := range []Kind{Elasticsearch, OpenSearch} {
		t.Run(kind.Name, func(t *testing.T) {
			c := childtest.Started(t, "Elasticsearch", kind.Variable, single(kind))
			childtest.ComesBack(t, c, "elastic", "rota", func(ctx context.Context) bool {
				var health any
				return c.Nodes()[0].get(ctx, "/_cluster/health", &health)
			})
		})
	}
}

func TestExternalServersAreNotStopped(t *testing.T) {
	childtest.External(t, OpenSearch.Variable, "elastic", single(OpenSearch))
}

// TestHomeOfTheVariable names a folder without servers.
func TestHomeOfTheVariable(t *testing.T) { childtest.Jars(t, homes()) }

func TestWithoutJava(t *testing.T) { childtest.WithoutJava(t, OpenSearch.Variable, single(OpenSearch)) }
