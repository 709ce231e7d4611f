package etcd

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"strconv"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/engine/full"
	"github.com/rota-run/rota/store/engine/log"
	inner "github.com/rota-run/rota/store/internal/driver"
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

// gRPC pings a silent server; servers accept no more frequent pings than these.
const (
	pingEvery   = 10 * time.Second
	pingTimeout = 3 * time.Second

	connectTimeout = 3 * time.Second // of one attempt
	// longestPause is between two attempts. A member that comes back later than it must keeps its tasks waiting.
	longestPause = time.Second / 2
)

// Open opens the store below o.Prefix, and creates it if it does not exist and the options allow that. An error says
// where, what and what to try; nothing is left open then. ctx bounds Open only.
func Open(ctx context.Context, o Options) (*Store, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("open etcd store: %w", err)
	}
	d, err := OpenDriver(ctx, o)
	if err != nil {
		return nil, err
	}
	return &Store{full.New(d, full.Options{Place: o.place(), ReadOnly: o.ReadOnly, Logger: o.Logger})}, nil
}

// OpenDriver opens what Open makes a store of, for tests of drivers. It takes changes even if o.ReadOnly.
func OpenDriver(ctx context.Context, o Options) (full.Driver, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("open etcd store: %w", err)
	}
	c, err := open(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("open store in %s: %w", o.place(), err)
	}
	return c, nil
}

func open(ctx context.Context, o Options) (*conn, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	ctx, done := context.WithTimeoutCause(ctx, o.Timeout, fmt.Errorf("no answer within %v", o.Timeout))
	defer done()
	c := &conn{
		prefix: o.Prefix + "/", log: o.Logger, timeout: o.Timeout, ops: opsMost,
		lines: &lines{log: o.Logger, all: make(map[string]*line)}, life: inner.NewLife(),
	}
	if err := c.connect(ctx, o); err != nil {
		c.life.End()
		return nil, openError(ctx, err)
	}
	if err := c.identify(ctx, o); err != nil {
		_ = c.Close() // the first error is the one that matters
		return nil, openError(ctx, err)
	}
	return c, nil
}

// connect makes the client. It does not wait for a connection, unless it has to log in.
func (c *conn) connect(ctx context.Context, o Options) error {
	stop := context.AfterFunc(ctx, func() { c.life.Cancel(context.Cause(ctx)) })
	var err error
	c.client, err = clientv3.New(clientv3.Config{
		Endpoints: o.urls(), TLS: o.TLS, Username: o.User, Password: o.Password, Context: c.life.Ctx,
		DialTimeout:       o.Timeout,
		DialKeepAliveTime: pingEvery, DialKeepAliveTimeout: pingTimeout,
		MaxUnaryRetries:    1, // the client would repeat a change when its deadline is near, and mistake the effect of the first one for a conflict
		MaxCallSendMsgSize: 2 << 20, MaxCallRecvMsgSize: math.MaxInt32,
		DialOptions: c.dialOptions(o), Logger: zap.NewNop(),
	})
	if !stop() && err == nil {
		_ = c.client.Close() // its context has ended
		err = context.Cause(ctx)
	}
	if err != nil {
		return readError(ctx, err)
	}
	return nil
}

// dialOptions make calls fail at once where no server can be reached, with the cause, and keep the pauses between
// attempts to connect short: the client's own choice is to wait until the call's deadline, and up to two minutes.
func (c *conn) dialOptions(o Options) []grpc.DialOption {
	failFast := func(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn,
		invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		return invoke(ctx, method, req, reply, conn, append(opts, grpc.WaitForReady(false))...)
	}
	all := []grpc.DialOption{
		grpc.WithStatsHandler(sendObserver{}),
		grpc.WithChainUnaryInterceptor(failFast),
		grpc.WithContextDialer(c.lines.dial),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff: backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2,
				MaxDelay: longestPause},
			MinConnectTimeout: connectTimeout,
		}),
	}
	if o.TLS != nil && o.TLS.ServerName != "" {
		all = append(all, grpc.WithTransportCredentials(newNamedTLS(o.TLS)))
	}
	return all
}

// The format of what this code writes. A store of another number is not opened.
const (
	formatKey    = "format"
	formatName   = "rota"
	formatNumber = 2
)

// identify checks what is below the prefix, and creates a store if there is nothing.
func (c *conn) identify(ctx context.Context, o Options) error {
	format, below, err := c.lookAround(ctx)
	if err != nil {
		return err
	}
	if err := c.checkServer(ctx, o); err != nil {
		return err
	}
	exists, err := c.checkFormat(format)
	switch {
	case err != nil:
		return err
	case exists:
		return c.mayWrite(ctx, o)
	case len(below.Kvs) > 0:
		return fmt.Errorf("there are keys below %q, like %.80q, but not those of a Rota store: give another prefix",
			c.prefix, below.Kvs[0].Key)
	case o.MustExist:
		return fmt.Errorf("there is no Rota store below %q: check the prefix, or start a member first: %w", c.prefix,
			store.ErrNotFound)
	}
	return c.create(ctx)
}

// opsMost is how many operations a transaction may have where the server is configured as it comes.
const opsMost = 128

// lookAround reads the format, and whether there is any key below the prefix. It does that in a transaction as large as
// any, to learn how large they may be: a server does not tell by other means.
func (c *conn) lookAround(ctx context.Context) (format, below *clientv3.GetResponse, err error) {
	for {
		ops := []clientv3.Op{
			clientv3.OpGet(c.prefix + formatKey),
			clientv3.OpGet(c.prefix, clientv3.WithPrefix(), clientv3.WithLimit(1), clientv3.WithKeysOnly()),
		}
		for len(ops) < c.ops {
			ops = append(ops, clientv3.OpGet(c.prefix+formatKey, clientv3.WithCountOnly()))
		}
		r, err := ask(ctx, c, func(ctx context.Context) (*clientv3.TxnResponse, error) {
			return c.client.Txn(ctx).Then(ops...).Commit()
		})
		switch {
		case is(err, rpctypes.ErrTooManyOps) && c.ops > 2:
			c.ops /= 2
			continue
		case err != nil:
			return nil, nil, err
		}
		return rangeOf(r, 0), rangeOf(r, 1), nil
	}
}

// rangeOf is the answer to a get within a transaction.
func rangeOf(r *clientv3.TxnResponse, i int) *clientv3.GetResponse {
	return (*clientv3.GetResponse)(r.Responses[i].GetResponseRange())
}

// checkFormat returns whether there is a store, and an error if this version cannot read it.
func (c *conn) checkFormat(r *clientv3.GetResponse) (exists bool, err error) {
	if len(r.Kvs) == 0 {
		return false, nil
	}
	text := string(r.Kvs[0].Value)
	name, number, _ := strings.Cut(text, " ")
	n, err := strconv.ParseInt(number, 10, 64)
	if name != formatName || err != nil {
		return false, fmt.Errorf("the key %q says %.40q: this is not a Rota store: give another prefix", r.Kvs[0].Key,
			text)
	}
	err = remote.CheckFormat(n, formatNumber, "give another prefix")
	return err == nil, err
}

// mayWrite returns an error if the user may only read. The server checks what a transaction would do if its condition
// held, which this one's never does.
func (c *conn) mayWrite(ctx context.Context, o Options) error {
	if o.ReadOnly {
		return nil
	}
	key := c.prefix + formatKey
	_, err := ask(ctx, c, func(ctx context.Context) (*clientv3.TxnResponse, error) {
		return c.client.Txn(ctx).If(clientv3.Compare(clientv3.CreateRevision(key), "<", 0)).
			Then(clientv3.OpPut(key, "")).Commit()
	})
	if is(err, rpctypes.ErrPermissionDenied) {
		return err
	}
	return nil // of anything else the next call tells
}

// create makes a store, unless another handle does at the same time.
func (c *conn) create(ctx context.Context) error {
	key := c.prefix + formatKey
	_, err := change(ctx, c, func(ctx context.Context) (*clientv3.TxnResponse, error) {
		return c.client.Txn(ctx).
			If(clientv3.Compare(clientv3.CreateRevision(key), "=", 0)).
			Then(clientv3.OpPut(key, fmt.Sprintf("%s %d", formatName, formatNumber))).Commit()
	})
	if errors.Is(err, store.ErrUnknown) { // it is the same, whichever process made it
		format, _, readErr := c.lookAround(ctx)
		if readErr == nil && len(format.Kvs) > 0 {
			return nil
		}
		return inner.NotDone(err)
	}
	return err
}
