package otlpgrpc

import (
	"cmp"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/rota-run/rota/publish"
)

// Options say where samples go.
type Options struct {
	Servers  []string // host:port; default 127.0.0.1:4317
	Service  string   // the attribute service.name; default rota
	Token    string   // a bearer token
	User     string
	Password string
	TLS      *tls.Config // nil: no encryption
}

// DefaultServer is where a collector is on one's own machine.
const DefaultServer = "127.0.0.1:4317"

// New returns a sink; nothing is connected yet.
func New(o Options) (publish.Sink, error) {
	if len(o.Servers) == 0 {
		o.Servers = []string{DefaultServer}
	}
	s := &sink{service: cmp.Or(o.Service, "rota"), servers: o.Servers, dial: func(server string) (connection, error) { return dial(server, o.TLS) }}
	switch {
	case o.Token != "":
		s.login, s.secrets = "Bearer "+o.Token, []string{o.Token}
	case o.User != "":
		pair := base64.StdEncoding.EncodeToString([]byte(o.User + ":" + o.Password))
		s.login, s.secrets = "Basic "+pair, []string{pair, o.Password}
	}
	c, err := s.dial(o.Servers[0])
	if err != nil {
		return nil, err
	}
	s.c = c
	return s, nil
}

// Reconnecting begins soon again: the publisher has a back-off of its own.
const (
	firstPause     = 200 * time.Millisecond
	longestPause   = 3 * time.Second
	connectTimeout = 3 * time.Second
)

func dial(server string, config *tls.Config) (connection, error) {
	secure := insecure.NewCredentials()
	if config != nil {
		secure = credentials.NewTLS(config)
	}
	c, err := grpc.NewClient(server, grpc.WithTransportCredentials(secure), grpc.WithDisableRetry(), grpc.WithDisableServiceConfig(), grpc.WithUserAgent("rota"),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: firstPause, Multiplier: 2, Jitter: 0.2, MaxDelay: longestPause},
			MinConnectTimeout: connectTimeout,
		}))
	if err != nil {
		return nil, fmt.Errorf("otlp over grpc: %s: %w", server, err)
	}
	return c, nil
}
