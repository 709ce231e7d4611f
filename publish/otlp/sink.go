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

type sink struct {
	c       *post.Client
	service string
}

// New returns a sink; nothing is connected yet.
func New(o Options) publish.Sink {
	p := post.Options{
		Servers: o.Servers, TLS: o.TLS, User: o.User, Password: o.Password, Transport: o.Transport, Header: http.Header{},
		Path: "/" + strings.TrimPrefix(cmp.Or(o.Path, "v1/metrics"), "/"),
	}
	if len(p.Servers) == 0 {
		p.Servers = []string{DefaultServer}
	}
	if o.Token != "" {
		p.Header.Set("Authorization", "Bearer "+o.Token)
	}
	return &sink{post.New(p), cmp.Or(o.Service, "rota")}
}

// Send implements publish.Sink.
func (s *sink) Send(ctx context.Context, batch []publish.Sample) publish.Outcome {
	var metrics []byte
	e := post.Encode(batch, func(sample publish.Sample) (err error) {
		metrics, err = otlpwire.AppendMetric(metrics, sample)
		return err
	})
	if len(e.Samples) == 0 {
		return e.With(publish.Outcome{})
	}
	a, err := s.c.Post(ctx, "application/x-protobuf", otlpwire.Request(metrics, s.service))
	if err == nil && a.Good() {
		return e.With(s.partial(e.Samples, a.Body))
	}
	return e.With(s.c.Outcome(e.Samples, a, err))
}

func (s *sink) partial(batch []publish.Sample, answer []byte) publish.Outcome {
	return otlpwire.Partial(batch, answer, s.c.Text)
}

// Close implements publish.Sink.
func (s *sink) Close() error { return s.c.Close() }
