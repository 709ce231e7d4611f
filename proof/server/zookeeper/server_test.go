package zookeeper

import (
	"context"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/proof/server/child/childtest"
)

func single(ctx context.Context) (*Cluster, error) { return Start(ctx, Options{}) }

func TestSingleIsKilledAndComesBack(t *testing.T) {
	c := childtest.Started(t, "ZooKeeper", Variable, single)
	childtest.ComesBack(t, c, "zookeeper", "/rota",
		func(ctx context.Context) bool { return c.Nodes()[0].mode(ctx) == "standalone" })
}

func TestEnsembleElectsAnother(t *testing.T) {
	c := childtest.Started(t, "ZooKeeper", Variable,
		func(ctx context.Context) (*Cluster, error) { return Start(ctx, Options{Nodes: 3}) })
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	first, err := c.Leader(ctx)
	must.Succeed(t, err)
	must.Succeed(t, c.Kill(first))
	second, err := c.Leader(ctx)
	if err != nil || second == first {
		t.Fatalf("after the death of %d: leader %d, %v", first, second, err)
	}
	must.Succeed(t, c.Restart(ctx, first))
}

func TestExternalServersAreNotStopped(t *testing.T) {
	childtest.External(t, Variable, "zookeeper", single)
}

func TestJarsOfTheVariable(t *testing.T) { childtest.Jars(t, jars()) }

func TestWithoutJava(t *testing.T) { childtest.WithoutJava(t, Variable, single) }
