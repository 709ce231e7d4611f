package nats

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"

	nc "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/rota-run/rota/publish"
)

// stream is what a sink needs of JetStream.
type stream interface {
	PublishMsgAsync(msg *nc.Msg, opts ...jetstream.PublishOpt) (jetstream.PubAckFuture, error)
}

// link is a connection.
type link interface {
	stream() (stream, error) // connects where that is needed
	close()
}

type sink struct {
	subject string
	l       link
}

// Send implements publish.Sink.
func (s *sink) Send(ctx context.Context, batch []publish.Sample) publish.Outcome {
	js, err := s.l.stream()
	if err != nil {
		return publish.RetryAll(batch, 0, err)
	}
	acks := make([]jetstream.PubAckFuture, 0, len(batch)) // nil for what was refused
	var out publish.Outcome
	for i, sample := range batch {
		ack, err := s.publish(js, sample)
		if err != nil {
			out.Err = s.fault(err)
		}
		if err != nil && passing(err) {
			out.Retry = batch[i:]
			break
		}
		acks = append(acks, ack)
	}
	return s.await(ctx, batch, acks, out)
}

// await waits for the acknowledgements, in order: from the first sample on whose fate is open all are sent again.
func (s *sink) await(ctx context.Context, batch []publish.Sample, acks []jetstream.PubAckFuture,
	out publish.Outcome) publish.Outcome {
	refused := 0
	for i, ack := range acks {
		if ack == nil {
			refused++
			continue
		}
		var err error
		select {
		case <-ack.Ok():
			continue
		case err = <-ack.Err():
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
		out.Err = s.fault(err)
		if passing(err) {
			return publish.Outcome{Refused: refused, Retry: batch[i:], Err: out.Err}
		}
		refused++
	}
	out.Refused = refused
	return out
}

func (s *sink) publish(js stream, sample publish.Sample) (jetstream.PubAckFuture, error) {
	line, err := sample.Line()
	if err != nil {
		return nil, &permanentError{err}
	}
	sum := sha256.Sum256(line)
	m := nc.NewMsg(s.subject)
	m.Data = line
	m.Header.Set(nc.MsgIdHdr, hex.EncodeToString(sum[:16]))
	return js.PublishMsgAsync(m)
}

func (s *sink) fault(err error) error { return fmt.Errorf("subject %s: %w", s.subject, err) }

// permanentError is of a sample that cannot be written.
type permanentError struct{ error }

func (e *permanentError) Unwrap() error { return e.error }

// passing reports whether a message may be taken later.
func passing(err error) bool {
	var said *jetstream.APIError
	var permanent *permanentError
	switch {
	case errors.As(err, &permanent), errors.Is(err, nc.ErrMaxPayload), errors.Is(err, nc.ErrBadSubject):
		return false
	case errors.As(err, &said):
		return said.Code != http.StatusBadRequest
	}
	return true
}

// Close implements publish.Sink.
func (s *sink) Close() error {
	s.l.close()
	return nil
}

// Options say where samples go.
type Options struct {
	Servers []string // host:port; default 127.0.0.1:4222
	Subject string   // that a stream listens on

	User, Password string      // either
	Token          string      // or
	CredsFile      string      // of an account's user: a JWT and its seed
	TLS            *tls.Config // nil: no encryption
}

// DefaultServer is where a server is on one's own machine.
const DefaultServer = "127.0.0.1:4222"

var subjectName = regexp.MustCompile(`^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$`)

// New returns a sink; nothing is connected yet.
func New(o Options) (publish.Sink, error) {
	if !subjectName.MatchString(o.Subject) || len(o.Subject) > 200 {
		return nil, fmt.Errorf("nats: subject %q: give names of letters, digits, _ and -, separated by dots", o.Subject)
	}
	if o.User != "" && o.Token != "" {
		return nil, errors.New("nats: both a user and a token: give one of them")
	}
	if len(o.Servers) == 0 {
		o.Servers = []string{DefaultServer}
	}
	return &sink{o.Subject, &line{o: o}}, nil
}

// line is a connection that is made when it is first needed, and again after it was closed.
type line struct {
	o    Options
	conn *nc.Conn
	js   jetstream.JetStream
}

const (
	connectWithin = 2 * time.Second
	ackWithin     = 10 * time.Second
)

func (l *line) stream() (stream, error) {
	if l.conn != nil && !l.conn.IsClosed() {
		if !l.conn.IsConnected() {
			return nil, nc.ErrDisconnected
		}
		return l.js, nil
	}
	urls := make([]string, len(l.o.Servers))
	for i, s := range l.o.Servers {
		urls[i] = "nats://" + s
	}
	conn, err := nc.Connect(strings.Join(urls, ","), l.options()...)
	if err != nil {
		return nil, err
	}
	if l.js, err = jetstream.New(conn, jetstream.WithPublishAsyncTimeout(ackWithin)); err != nil {
		conn.Close()
		return nil, err
	}
	l.conn = conn
	return l.js, nil
}

func (l *line) options() []nc.Option {
	out := []nc.Option{
		nc.Name("rota"), nc.Timeout(connectWithin), nc.MaxReconnects(-1), nc.ReconnectWait(300 * time.Millisecond),
		nc.ReconnectBufSize(-1),
		nc.PingInterval(10 * time.Second), nc.MaxPingsOutstanding(2),
		nc.ErrorHandler(func(*nc.Conn, *nc.Subscription, error) {}), // not to standard error
	}
	if l.o.TLS != nil {
		out = append(out, nc.Secure(l.o.TLS))
	}
	switch {
	case l.o.User != "":
		out = append(out, nc.UserInfo(l.o.User, l.o.Password))
	case l.o.Token != "":
		out = append(out, nc.Token(l.o.Token))
	case l.o.CredsFile != "":
		out = append(out, nc.UserCredentials(l.o.CredsFile))
	}
	return out
}

func (l *line) close() {
	if l.conn != nil {
		l.conn.Close()
	}
}
