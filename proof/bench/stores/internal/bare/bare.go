// Package bare has the clients of the stores' servers with nothing around them, as their manuals show them: what our logs are compared with.
package bare

import (
	"context"
	"fmt"

	"github.com/rota-run/rota/proof/bench/internal/place"
)

// Client writes records to a server. Its calls may be made from any goroutine.
type Client interface {
	// Write writes one record and returns when that was acknowledged.
	Write(ctx context.Context, data []byte) error
	// Batch writes n records at once.
	Batch(ctx context.Context, data []byte, n int) error
	// Applied writes one record and reads it back.
	Applied(ctx context.Context, data []byte) error
	// Close ends the connection.
	Close() error
}

// Open opens the client of a place's server.
func Open(ctx context.Context, p *place.Place) (Client, error) {
	switch p.Kind {
	case "file":
		return opened(openSQLite(ctx, p.Dir))
	case "elastic", "opensearch":
		return opened(openElastic(ctx, p.Hosts()))
	case "etcd":
		return opened(openEtcd(p.Hosts()))
	case "kafka":
		return opened(openKafka(ctx, p.Hosts()))
	case "nats":
		return opened(openNATS(ctx, p.Hosts()))
	case "postgres":
		return opened(openPostgres(ctx, p.Hosts()))
	case "zookeeper":
		return opened(openZooKeeper(ctx, p.Hosts()))
	}
	return nil, fmt.Errorf("the store %s has no bare client", p.Kind)
}

// opened is nil where there was an error, and not a client that is.
func opened[C Client](c C, err error) (Client, error) {
	if err != nil {
		return nil, fmt.Errorf("open the bare client: %w", err)
	}
	return c, nil
}
