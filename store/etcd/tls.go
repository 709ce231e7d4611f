package etcd

import (
	"context"
	"crypto/tls"
	"net"

	"google.golang.org/grpc/credentials"
)

// namedTLS expects the server name that the user gave. The client's resolver replaces it by the host of the endpoint.
type namedTLS struct {
	credentials.TransportCredentials
	name string
}

func newNamedTLS(c *tls.Config) namedTLS { return namedTLS{credentials.NewTLS(c), c.ServerName} }

// ClientHandshake implements credentials.TransportCredentials.
func (n namedTLS) ClientHandshake(ctx context.Context, _ string, conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return n.TransportCredentials.ClientHandshake(ctx, n.name, conn)
}

// Clone implements credentials.TransportCredentials.
func (n namedTLS) Clone() credentials.TransportCredentials {
	return namedTLS{n.TransportCredentials.Clone(), n.name}
}
