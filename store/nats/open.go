package nats

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"regexp"
	"strings"
	"time"

	nc "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/driver"
	"github.com/rota-run/rota/store/engine/full"
	"github.com/rota-run/rota/store/engine/log"
	inner "github.com/rota-run/rota/store/internal/driver"
)

// Options of [Open]. URLs alone are enough for a server without accounts.
type Options struct {
	URLs   []string // of the server's nodes, "nats://host:4222" or "tls://host:4222"; default nats://127.0.0.1:4222
	Bucket string   // the namespace: one store each; letters, digits, "_" and "-"; default "rota"

	User, Password string      // either
	Token          string      // or
	CredsFile      string      // of an account's user: a JWT and its seed, as `nsc` writes them
	TLS            *tls.Config // default: none, and the system's roots for tls://

	// Replicas is how many nodes of a cluster keep the data if Open creates the store: 1, 3 or 5. Default: 3 in a
	// cluster, else 1.
	Replicas int
	// MustExist refuses a missing bucket, with store.ErrNotFound, instead of creating it.
	MustExist bool
	// ReadOnly opens the store read-only: it implies MustExist, and every change is refused before it is sent.
	ReadOnly bool
	// Timeout bounds Open, and each call whose ctx does not end earlier. Default 5 s.
	Timeout time.Duration
	// Logger gets lost connections and the repairs of the store; default: discard.
	Logger *slog.Logger
}

const (
	defaultURL     = "nats://127.0.0.1:4222"
	defaultBucket  = "rota"
	defaultTimeout = 5 * time.Second
)

func (o Options) withDefaults() Options {
	if len(o.URLs) == 0 {
		o.URLs = []string{defaultURL}
	}
	o.Bucket = cmp.Or(o.Bucket, defaultBucket)
	o.Timeout = cmp.Or(o.Timeout, defaultTimeout)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	o.MustExist = o.MustExist || o.ReadOnly
	return o
}

var bucketName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

func (o Options) validate() error {
	var faults []error
	if !bucketName.MatchString(o.Bucket) {
		faults = append(faults, fmt.Errorf("bucket %q: give 1 to 64 letters, digits, _ and -", o.Bucket))
	}
	if o.Timeout < 0 {
		faults = append(faults, fmt.Errorf("timeout %v is negative", o.Timeout))
	}
	switch o.Replicas {
	case 0, 1, 3, 5:
	default:
		faults = append(faults, fmt.Errorf("replicas %d: give 1, 3 or 5", o.Replicas))
	}
	for i, u := range o.URLs {
		if err := checkURL(u); err != nil {
			faults = append(faults, fmt.Errorf("address %d of %d: %w", i+1, len(o.URLs), err))
		}
	}
	if (o.User != "" || o.Password != "") && o.Token != "" {
		faults = append(faults, errors.New("both a user and a token: give one of them"))
	}
	return errors.Join(faults...)
}

// checkURL says nothing of what the address contains: there may be a password in it.
func checkURL(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return errors.New(`it is not of the form "nats://host:4222"`)
	}
	switch u.Scheme {
	case "nats", "tls", "ws", "wss":
	default:
		return fmt.Errorf("scheme %q: give nats, tls, ws or wss", u.Scheme)
	}
	if u.Path != "" && u.Path != "/" {
		return errors.New("it has a path: the bucket is an option of its own")
	}
	return nil
}

// place says where a store lies.
func (o Options) place() string { return "NATS store " + o.hosts() + "/" + o.Bucket }

// hosts names the servers in errors and logs, without the rest of the addresses.
func (o Options) hosts() string {
	var out []string
	for _, text := range o.URLs {
		if u, err := url.Parse(text); err == nil {
			out = append(out, u.Host)
		}
	}
	return strings.Join(out, ",")
}

// ErrDamaged marks data that is missing or wrong. Retrying does not help: restore the streams from a copy.
var ErrDamaged = log.ErrDamaged

// Store is one handle on a bucket, with its own connection. It is safe for concurrent use.
type Store struct{ *full.Store }

// Open connects to the server and opens the store in a bucket, and creates it if it does not exist and the options
// allow that. It takes no longer than the options' Timeout. An error says what failed, where, and what to try; then
// nothing is left open. ctx bounds only Open.
func Open(ctx context.Context, o Options) (*Store, error) {
	o = o.withDefaults()
	b, err := openBucket(ctx, o)
	if err != nil {
		return nil, err
	}
	s := full.New(b, full.Options{Place: o.place(), ReadOnly: o.ReadOnly, Logger: o.Logger})
	return &Store{s}, nil
}

// Driver is what [OpenDriver] returns.
type Driver interface {
	full.Driver
	driver.NamedJournals
}

// OpenDriver opens what Open makes a store of, for tests of drivers. It takes changes even if o.ReadOnly.
func OpenDriver(ctx context.Context, o Options) (Driver, error) {
	b, err := openBucket(ctx, o.withDefaults())
	if err != nil {
		return nil, err
	}
	return b, nil
}

func openBucket(ctx context.Context, o Options) (*bucket, error) {
	w, err := open(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", o.place(), err)
	}
	return &bucket{wire: w}, nil
}

func open(ctx context.Context, o Options) (*wire, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	ctx, cancel := context.WithTimeoutCause(ctx, o.Timeout, errTimeout)
	defer cancel()
	l := newLine(o.Logger)
	l.onFault(func(err error) {
		if errors.Is(err, nc.ErrPermissionViolation) {
			fail(err) // what was asked will not be answered
		}
	})
	conn, err := connect(ctx, o, l)
	if err != nil {
		l.close()
		return nil, err
	}
	l.connected(conn)
	w, err := newWire(ctx, o, conn, l)
	if err != nil {
		conn.Close()
		l.close()
		return nil, err
	}
	l.onFault(nil)
	return w, nil
}

func newWire(ctx context.Context, o Options, conn *nc.Conn, l *line) (*wire, error) {
	if err := checkServerVersion(conn.ConnectedServerVersion()); err != nil {
		return nil, err
	}
	js, err := jetstream.New(conn)
	if err != nil {
		return nil, err
	}
	w := &wire{
		conn: conn, js: js, line: l, names: names{o.Bucket}, readOnly: o.ReadOnly, timeout: o.Timeout,
		log: o.Logger.With("bucket", o.Bucket), life: inner.NewLife(),
	}
	if err := w.prepare(ctx, o); err != nil {
		w.life.Cancel(err)
		return nil, describeStore(ctx, err)
	}
	return w, nil
}

// connect dials on a goroutine of its own, since the client knows no ctx.
func connect(ctx context.Context, o Options, l *line) (*nc.Conn, error) {
	type result struct {
		conn *nc.Conn
		err  error
	}
	options, err := o.client(l)
	if err != nil {
		return nil, err
	}
	dialled := make(chan result, 1)
	go func() {
		conn, err := options.Connect()
		dialled <- result{conn, err}
	}()
	select {
	case r := <-dialled:
		if r.err != nil {
			return nil, describeConnect(r.err)
		}
		return r.conn, nil
	case <-ctx.Done():
		go func() {
			if r := <-dialled; r.conn != nil {
				r.conn.Close()
			}
		}()
		if err := context.Cause(ctx); !errors.Is(err, errTimeout) {
			return nil, err
		}
		return nil, describeConnect(nc.ErrTimeout)
	}
}

// client is the client's view of the options. It must never keep a message for a later connection: the caller would
// have got an error that says it was not sent.
func (o Options) client(l *line) (nc.Options, error) {
	c := nc.GetDefaultOptions()
	c.Servers = o.URLs
	c.Name = "rota"
	c.Timeout = max(o.Timeout/time.Duration(len(o.URLs)+1), 100*time.Millisecond)
	c.ReconnectBufSize = -1
	c.MaxReconnect = -1
	c.IgnoreAuthErrorAbort = true // rights that were taken away come back
	c.ReconnectWait = 100 * time.Millisecond
	c.ReconnectJitter = 100 * time.Millisecond
	c.ReconnectJitterTLS = 200 * time.Millisecond
	c.PingInterval = max(o.Timeout/2, time.Second)
	c.MaxPingsOut = 2
	c.User, c.Password, c.Token = o.User, o.Password, o.Token
	c.TLSConfig = o.TLS
	c.Secure = o.TLS != nil
	c.DisconnectedErrCB, c.ReconnectedCB, c.AsyncErrorCB = l.disconnected, l.reconnected, l.failed
	c.ReconnectErrCB = l.refused
	if o.CredsFile != "" {
		if _, err := os.Stat(o.CredsFile); err != nil {
			return c, fmt.Errorf("read the credentials file: %w", err)
		}
		if err := nc.UserCredentials(o.CredsFile)(&c); err != nil {
			return c, fmt.Errorf("read the credentials file %s: %w", o.CredsFile, err)
		}
	}
	return c, nil
}

// newID is a name that nobody else has.
func (w *wire) newID() string { return rand.Text() }

// prepare makes the streams and the mark of the format, or checks those that are there.
func (w *wire) prepare(ctx context.Context, o Options) error {
	if err := w.checkJetStream(ctx); err != nil {
		return err
	}
	replicas := o.Replicas
	if replicas == 0 {
		replicas = 1
		if w.conn.ConnectedClusterName() != "" {
			replicas = 3
		}
	}
	if err := w.ensure(ctx, w.docsConfig(replicas), o.MustExist); err != nil {
		return err
	}
	if err := w.ensure(ctx, logConfig(w.names.log(), w.names.logSubject(), replicas), o.MustExist); err != nil {
		return err
	}
	return w.ensureFormat(ctx, o.MustExist)
}

// checkJetStream asks the account for its JetStream.
func (w *wire) checkJetStream(ctx context.Context) error {
	err := w.api(ctx, "INFO", "", nil, nil, false)
	if errors.Is(err, store.ErrUnavailable) && ctx.Err() == nil {
		return fmt.Errorf("%w: JetStream does not answer: start the server with -js, or enable JetStream in its configuration, or wait until the "+
			"cluster has a leader: %w", store.ErrUnavailable, err)
	}
	return err
}
