package nats

import (
	"crypto/tls"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	nc "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/rota-run/rota/publish"
)

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
		nc.Name("rota"), nc.Timeout(connectWithin), nc.MaxReconnects(-1), nc.ReconnectWait(300 * time.Millisecond), nc.ReconnectBufSize(-1),
		nc.PingInterval(10 * time.Second), nc.MaxPingsOutstanding(2), nc.ErrorHandler(func(*nc.Conn, *nc.Subscription, error) {}), // not to standard error
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
