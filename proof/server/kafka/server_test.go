package kafka

import (
	"context"
	"testing"

	"github.com/rota-run/rota/proof/server/child/childtest"
)

func single(ctx context.Context) (*Cluster, error) { return Start(ctx, Options{}) }

func TestSingleIsKilledAndComesBack(t *testing.T) {
	c := childtest.Started(t, "Kafka", Variable, single)
	childtest.ComesBack(t, c, "kafka", "/rota", func(ctx context.Context) bool {
		serving, err := c.Nodes()[0].serving(ctx)
		return err == nil && serving[1]
	})
}

func TestExternalBrokersAreNotStopped(t *testing.T) { childtest.External(t, Variable, "kafka", single) }

func TestJarsOfTheVariable(t *testing.T) { childtest.Jars(t, jars()) }

func TestWithoutJava(t *testing.T) { childtest.WithoutJava(t, Variable, single) }
