package appends

import (
	"context"
	"fmt"

	"github.com/rota-run/rota/cmd/rotabench/internal/place"
)

// openBare opens the client of a place's server with nothing around it.
func openBare(ctx context.Context, p *place.Place) (side, error) {
	switch p.Kind {
	case "file":
		return openSQLite(ctx, p.Dir)
	case "etcd":
		return openEtcd(p.Hosts())
	case "nats":
		return openNATS(ctx, p.Hosts())
	case "zookeeper":
		return openZooKeeper(ctx, p.Hosts())
	}
	return nil, fmt.Errorf("the store %s has no bare client", p.Kind)
}
