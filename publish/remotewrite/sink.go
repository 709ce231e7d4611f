package remotewrite

import (
	"cmp"
	"context"
	"crypto/tls"
	"net/http"
	"strings"

	"github.com/klauspost/compress/s2"

	"github.com/rota-run/rota/publish"
	"github.com/rota-run/rota/publish/internal/post"
)

// Options say where samples go.
type Options struct {
	Servers  []string // host:port; default 127.0.0.1:9090
	Path     string   // default api/v1/write
	Token    string   // a bearer token
	User     string
	Password string
	TLS      *tls.Config // nil: no encryption
	// Transport is for tests; default: one with bounded connections.
	Transport http.RoundTripper
}

// DefaultServer is where Prometheus is on one's own machine.
const DefaultServer = "127.0.0.1:9090"

type sink struct{ c *post.Client }

// New returns a sink; nothing is connected yet.
func New(o Options) publish.Sink {
	p := post.Options{
		Servers: o.Servers, TLS: o.TLS, User: o.User, Password: o.Password, Transport: o.Transport, Header: http.Header{},
		Path: "/" + strings.TrimPrefix(cmp.Or(o.Path, "api/v1/write"), "/"),
	}
	if len(p.Servers) == 0 {
		p.Servers = []string{DefaultServer}
	}
	if o.Token != "" {
		p.Header.Set("Authorization", "Bearer "+o.Token)
	}
	p.Header.Set("Content-Encoding", "snappy")
	p.Header.Set("X-Prometheus-Remote-Write-Version", "0.1.0")
	return &sink{post.New(p)}
}

// Send implements publish.Sink.
func (s *sink) Send(ctx context.Context, batch []publish.Sample) publish.Outcome {
	var body []byte
	e := post.Encode(batch, func(sample publish.Sample) (err error) {
		body, err = appendSeries(body, sample)
		return err
	})
	if len(e.Samples) == 0 {
		return e.With(publish.Outcome{})
	}
	a, err := s.c.Post(ctx, "application/x-protobuf", s2.EncodeSnappy(nil, body))
	return e.With(s.c.Outcome(e.Samples, a, err))
}

// Close implements publish.Sink.
func (s *sink) Close() error { return s.c.Close() }
