package etcd

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"time"

	"google.golang.org/grpc/credentials"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/engine/full"
	"github.com/rota-run/rota/store/engine/log"
	"github.com/rota-run/rota/store/internal/remote"
)

// Defaults of [Options].
const (
	defaultPrefix  = "rota"
	defaultPort    = "2379"
	defaultTimeout = 5 * time.Second
)

// Options of [Open].
type Options struct {
	// Endpoints are the servers of one cluster, host:port each; the default port is 2379. Give all of them: any live
	// one is enough.
	Endpoints []string
	// Prefix is the place of the store, "a/b"; default "rota". All keys are below it. The prefix of one store must not
	// be inside that of another.
	Prefix string
	// User and Password log in, if the server requires it. Neither appears in an error.
	User, Password string
	// TLS encrypts the connection; nil: plain text.
	TLS *tls.Config
	// MustExist makes Open fail with store.ErrNotFound if there is no store yet, instead of creating one.
	MustExist bool
	// ReadOnly implies MustExist. Every change is refused before anything is sent.
	ReadOnly bool
	// Timeout limits Open, and the time after which an unanswered batch of appends is unknown; default 5 s.
	Timeout time.Duration
	// Logger gets background events; default: discard.
	Logger *slog.Logger
}

func (o Options) withDefaults() (Options, error) {
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	o.Timeout = cmp.Or(max(o.Timeout, 0), defaultTimeout)
	o.Prefix = cmp.Or(strings.Trim(o.Prefix, "/"), defaultPrefix)
	if err := store.CheckKey(o.Prefix); err != nil {
		return o, fmt.Errorf("prefix: %w", err)
	}
	o.MustExist = o.MustExist || o.ReadOnly
	if err := remote.CheckLogin(o.User, o.Password); err != nil {
		return o, err
	}
	var err error
	o.Endpoints, err = remote.Complete("endpoint", o.Endpoints, defaultPort)
	return o, err
}

// place says where a store lies.
func (o Options) place() string { return "etcd " + strings.Join(o.Endpoints, ",") + "/" + o.Prefix }

// urls are the endpoints as the client wants them.
func (o Options) urls() []string {
	scheme := "http://"
	if o.TLS != nil {
		scheme = "https://"
	}
	all := make([]string, len(o.Endpoints))
	for i, e := range o.Endpoints {
		all[i] = scheme + e
	}
	return all
}

// The maximum sizes; above them, calls return ErrTooLarge. A server accepts requests of 1.5 MiB by default.
const (
	MaxRecord   = 1 << 20         // bytes of a document or of a record of the log
	MaxSnapshot = log.MaxSnapshot // bytes of a snapshot, which is split into parts
)

// Store is one handle on the store. It is safe for concurrent use.
type Store struct{ *full.Store }

// namedTLS expects the server name that the user gave. The client's resolver replaces it by the host of the endpoint.
type namedTLS struct {
	credentials.TransportCredentials
	name string
}

func newNamedTLS(c *tls.Config) namedTLS { return namedTLS{credentials.NewTLS(c), c.ServerName} }

// ClientHandshake implements credentials.TransportCredentials.
func (n namedTLS) ClientHandshake(ctx context.Context, _ string,
	conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return n.TransportCredentials.ClientHandshake(ctx, n.name, conn)
}

// Clone implements credentials.TransportCredentials.
func (n namedTLS) Clone() credentials.TransportCredentials {
	return namedTLS{n.TransportCredentials.Clone(), n.name}
}
