package otlpgrpc

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/rota-run/rota/publish"
	"github.com/rota-run/rota/publish/internal/otlpwire"
	"github.com/rota-run/rota/publish/internal/post"
)

// connection is what a sink needs of a client.
type connection interface {
	Invoke(ctx context.Context, method string, args, reply any, opts ...grpc.CallOption) error
	Close() error
}

type sink struct {
	service string
	login   string   // of each request; "" for none
	secrets []string // which nobody may see
	servers []string
	current int
	dial    func(server string) (connection, error)
	c       connection
}

// export is the method of a collector.
const export = "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export"

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
	if s.login != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", s.login)
	}
	body, answer := otlpwire.Request(metrics, s.service), []byte(nil)
	if err := s.c.Invoke(ctx, export, &body, &answer, grpc.ForceCodecV2(raw{})); err != nil {
		return e.With(s.failed(ctx, e.Samples, err))
	}
	return e.With(otlpwire.Partial(e.Samples, answer, s.text))
}

// failed is the outcome of a request that failed, as OTLP has it.
func (s *sink) failed(ctx context.Context, batch []publish.Sample, err error) publish.Outcome {
	said := status.Convert(err)
	fault := fmt.Errorf("%s: %s: %s", s.servers[s.current], said.Code(), s.text([]byte(said.Message())))
	if cause := context.Cause(ctx); cause != nil {
		fault = fmt.Errorf("%s: %w", s.servers[s.current], cause)
	}
	switch said.Code() {
	case codes.Unauthenticated, codes.PermissionDenied:
		return publish.RefuseLogin(batch, fault)
	case codes.ResourceExhausted:
		if wait := waitOf(said); wait > 0 {
			return publish.RetryAll(batch, wait, fault)
		}
		return publish.Refuse(batch, fault)
	case codes.Unavailable, codes.DeadlineExceeded, codes.Canceled, codes.Aborted, codes.OutOfRange, codes.DataLoss:
		if err := s.next(said.Code()); err != nil {
			fault = errors.Join(fault, err)
		}
		return publish.RetryAll(batch, waitOf(said), fault)
	}
	return publish.Refuse(batch, fault)
}

// next connects to the next server. The only one is connected again when it has not answered: its connection may lead
// nowhere.
func (s *sink) next(code codes.Code) error {
	if len(s.servers) == 1 && code != codes.DeadlineExceeded {
		return nil
	}
	next := (s.current + 1) % len(s.servers)
	c, err := s.dial(s.servers[next])
	if err != nil {
		return err
	}
	old := s.c
	s.c, s.current = c, next
	if err := old.Close(); err != nil {
		return fmt.Errorf("close the connection: %w", err)
	}
	return nil
}

// retryInfo is the kind of the detail that says when to come again.
const retryInfo = "type.googleapis.com/google.rpc.RetryInfo"

// waitOf is how long a collector asks to wait; 0 where it does not say.
func waitOf(said *status.Status) time.Duration {
	for _, d := range said.Proto().GetDetails() {
		if d.GetTypeUrl() == retryInfo {
			return otlpwire.Duration(otlpwire.BytesOf(d.GetValue(), 1))
		}
	}
	return 0
}

func (s *sink) text(said []byte) string { return post.Text(said, s.secrets...) }

// Close implements publish.Sink.
func (s *sink) Close() error {
	if err := s.c.Close(); err != nil {
		return fmt.Errorf("close the connection: %w", err)
	}
	return nil
}

// raw is a codec of messages that are bytes already.
type raw struct{}

// Marshal implements encoding.CodecV2.
func (raw) Marshal(v any) (mem.BufferSlice, error) {
	b, ok := v.(*[]byte)
	if !ok {
		return nil, fmt.Errorf("marshal %T: it is not bytes", v)
	}
	return mem.BufferSlice{mem.SliceBuffer(*b)}, nil
}

// Unmarshal implements encoding.CodecV2.
func (raw) Unmarshal(data mem.BufferSlice, v any) error {
	b, ok := v.(*[]byte)
	if !ok {
		return fmt.Errorf("unmarshal %T: it is not bytes", v)
	}
	*b = data.Materialize()
	return nil
}

// Name implements encoding.CodecV2: the bytes are protobuf.
func (raw) Name() string { return "proto" }

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
	s := &sink{service: cmp.Or(o.Service, "rota"), servers: o.Servers,
		dial: func(server string) (connection, error) { return dial(server, o.TLS) }}
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
	c, err := grpc.NewClient(server, grpc.WithTransportCredentials(secure), grpc.WithDisableRetry(),
		grpc.WithDisableServiceConfig(), grpc.WithUserAgent("rota"),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: firstPause, Multiplier: 2, Jitter: 0.2, MaxDelay: longestPause},
			MinConnectTimeout: connectTimeout,
		}))
	if err != nil {
		return nil, fmt.Errorf("otlp over grpc: %s: %w", server, err)
	}
	return c, nil
}
