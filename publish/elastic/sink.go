package elastic

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"regexp"

	"github.com/rota-run/rota/publish"
	"github.com/rota-run/rota/publish/internal/post"
)

// Options say where samples go.
type Options struct {
	Servers  []string // host:port; default 127.0.0.1:9200
	Target   string   // a data stream, an index or an alias
	APIKey   string
	User     string
	Password string
	TLS      *tls.Config // nil: no encryption
	// Transport is for tests; default: one with bounded connections.
	Transport http.RoundTripper
}

// DefaultServer is where a server is on one's own machine.
const DefaultServer = "127.0.0.1:9200"

// Batch is a good publish.Options.Batch: a server syncs its log to disk for each request.
const Batch = 2000

// target is what servers take as a name.
var target = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,199}$`)

type sink struct {
	c       *post.Client
	explain string // the path of a request whose answer has each document
}

// What is asked for of an answer. It is short while all is well: an item for each document costs the server and the client more than the documents.
const (
	briefly = "?filter_path=errors"
	inFull  = "?filter_path=errors,items.*.status,items.*.error.type,items.*.error.reason"
)

// New returns a sink; nothing is connected yet.
func New(o Options) (publish.Sink, error) {
	if !target.MatchString(o.Target) {
		return nil, fmt.Errorf("elastic: %q is not the name of a data stream or index: use a-z, 0-9, . _ and -", o.Target)
	}
	p := post.Options{
		Servers: o.Servers, TLS: o.TLS, User: o.User, Password: o.Password, Transport: o.Transport, Header: http.Header{},
		Path: "/" + o.Target + "/_bulk" + briefly,
	}
	if len(p.Servers) == 0 {
		p.Servers = []string{DefaultServer}
	}
	if o.APIKey != "" {
		p.Header.Set("Authorization", "ApiKey "+o.APIKey)
	}
	return &sink{post.New(p), "/" + o.Target + "/_bulk" + inFull}, nil
}

const contentType = "application/x-ndjson"

// Send implements publish.Sink.
func (s *sink) Send(ctx context.Context, batch []publish.Sample) publish.Outcome {
	var body []byte
	e := post.Encode(batch, func(sample publish.Sample) (err error) {
		body, err = appendSample(body, sample)
		return err
	})
	if len(e.Samples) == 0 {
		return e.With(publish.Outcome{})
	}
	a, err := s.c.Post(ctx, contentType, body)
	if err == nil && a.Good() && hasErrors(a.Body) {
		a, err = s.c.PostTo(ctx, s.explain, contentType, body) // what is there already says so, and is not there twice
	}
	if err == nil && a.Good() {
		return e.With(judge(e.Samples, a.Body, s.c.Text))
	}
	return e.With(s.c.Outcome(e.Samples, a, err))
}

// Close implements publish.Sink.
func (s *sink) Close() error { return s.c.Close() }
