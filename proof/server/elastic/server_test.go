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

// Both kinds are killed by the same code; OpenSearch starts sooner. In stores/elastic both come back with their data.
func TestSingleIsKilledAndComesBack(t *testing.T) {
	c := childtest.Started(t, "OpenSearch", OpenSearch.Variable, single(OpenSearch))
	childtest.ComesBack(t, c, "elastic", "rota", func(ctx context.Context) bool {
		var health any
		return c.Nodes()[0].get(ctx, "/_cluster/health", &health)
	})
}

func TestExternalServersAreNotStopped(t *testing.T) {
	childtest.External(t, OpenSearch.Variable, "elastic", single(OpenSearch))
}

// TestHomeOfTheVariable names a folder without servers.
func TestHomeOfTheVariable(t *testing.T) { childtest.Jars(t, homes()) }

func TestWithoutJava(t *testing.T) { childtest.WithoutJava(t, OpenSearch.Variable, single(OpenSearch)) }
