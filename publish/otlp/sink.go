package otlp

import (
	"cmp"
	"context"
	"crypto/tls"
	"net/http"
	"strings"

	"github.com/rota-run/rota/publish"
	"github.com/rota-run/rota/publish/internal/otlpwire"
	"github.com/rota-run/rota/publish/internal/post"
)

// Options say where samples go.
type Options struct {
	Servers  []string // host:port; default 127.0.0.1:4318
	Path     string   // default v1/metrics
	Service  string   // the attribute service.name; default rota
	Token    string   // a bearer token
	User     string
	Password string
	TLS      *tls.Config // nil: no encryption
	// Transport is for tests; default: one with bounded connections.
	Transport http.RoundTripper
}

// DefaultServer is where a collector is on one's own machine.
const DefaultServer = "127.0.0.1:4318"

// New returns a sink; nothing is connected yet.
func New(o Options) publish.Sink {
	c := post.New(post.Options{
		Servers: o.Servers, Default: DefaultServer, TLS: o.TLS, User: o.User, Password: o.Password, Scheme: "Bearer",
		Token:     o.Token,
		Transport: o.Transport, Path: "/" + strings.TrimPrefix(cmp.Or(o.Path, "v1/metrics"), "/"),
	})
	return &post.Sink{
		Client: c, Type: "application/x-protobuf", Append: otlpwire.AppendMetric,
		Whole: func(metrics []byte) []byte { return otlpwire.Request(metrics, cmp.Or(o.Service, "rota")) },
		Judge: func(_ context.Context, batch []publish.Sample, _ []byte, a post.Answer) publish.Outcome {
			return otlpwire.Partial(batch, a.Body, c.Text)
		},
	}
}
