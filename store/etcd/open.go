package etcd

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/internal/driver"
)

// gRPC pings a silent server; servers accept no more frequent pings than these.
const (
	pingEvery   = 10 * time.Second
	pingTimeout = 3 * time.Second

	connectTimeout = 3 * time.Second // of one attempt
)

// Open opens the store below o.Prefix, and creates it if it does not exist and the options allow that. An error says where, what and what to try;
// nothing is left open then. ctx bounds Open only.
func Open(ctx context.Context, o Options) (*Store, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("open etcd store: %w", err)
	}
	s, err := open(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("open store in %s: %w", place(o), err)
	}
	return s, nil
}

func open(ctx context.Context, o Options) (*Store, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	ctx, done := context.WithTimeoutCause(ctx, o.Timeout, fmt.Errorf("no answer within %v", o.Timeout))
	defer done()
	s := &Store{
		keys: newLayout(o.Prefix), place: place(o), log: o.Logger, timeout: o.Timeout, readOnly: o.ReadOnly,
		sessions: make(map[*session]struct{}), lines: &lines{log: o.Logger, all: make(map[string]*line)},
	}
	s.page.Store(firstPage)
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	if err := s.connect(ctx, o); err != nil {
		s.cancel(store.ErrClosed)
		return nil, openError(ctx, err)
	}
	if err := s.identify(ctx, o); err != nil {
		s.cancel(store.ErrClosed)
		_ = s.client.Close() // the first error is the one that matters
		return nil, openError(ctx, err)
	}
	if !o.ReadOnly {
		s.appender = newAppender(s)
	}
	return s, nil
}

// connect makes the client. It does not wait for a connection, unless it has to log in.
func (s *Store) connect(ctx context.Context, o Options) error {
	stop := context.AfterFunc(ctx, func() { s.cancel(context.Cause(ctx)) })
	var err error
	s.client, err = clientv3.New(clientv3.Config{
		Endpoints: o.urls(), TLS: o.TLS, Username: o.User, Password: o.Password, Context: s.ctx, DialTimeout: o.Timeout,
		DialKeepAliveTime: pingEvery, DialKeepAliveTimeout: pingTimeout,
		MaxUnaryRetries:    1, // the client would repeat a change when its deadline is near, and mistake the effect of the first one for a conflict
		MaxCallSendMsgSize: 2 << 20, MaxCallRecvMsgSize: math.MaxInt32,
		DialOptions: s.dialOptions(o), Logger: zap.NewNop(),
	})
	if !stop() && err == nil {
		_ = s.client.Close() // its context has ended
		err = context.Cause(ctx)
	}
	if err != nil {
		return readError(ctx, err)
	}
	return nil
}

// dialOptions make calls fail at once where no server can be reached, with the cause, and keep the pauses between attempts to connect short: the
// client's own choice is to wait until the call's deadline, and up to two minutes.
func (s *Store) dialOptions(o Options) []grpc.DialOption {
	failFast := func(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		return invoke(ctx, method, req, reply, conn, append(opts, grpc.WaitForReady(false))...)
	}
	all := []grpc.DialOption{
		grpc.WithStatsHandler(postman{}),
		grpc.WithChainUnaryInterceptor(failFast),
		grpc.WithContextDialer(s.lines.dial),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 2 * time.Second},
			MinConnectTimeout: connectTimeout,
		}),
	}
	if o.TLS != nil && o.TLS.ServerName != "" {
		all = append(all, grpc.WithTransportCredentials(newNamedTLS(o.TLS)))
	}
	return all
}

// identify checks what is below the prefix, and creates a store if there is nothing.
func (s *Store) identify(ctx context.Context, o Options) error {
	format, below, err := s.lookAround(ctx)
	if err != nil {
		return err
	}
	if err := s.checkServer(ctx, o); err != nil {
		return err
	}
	exists, err := checkFormat(format)
	switch {
	case err != nil || exists:
		return err
	case len(below.Kvs) > 0:
		return fmt.Errorf("there are keys below %q, like %.80q, but not those of a Rota store: give another prefix", s.keys.prefix, below.Kvs[0].Key)
	case o.MustExist:
		return fmt.Errorf("there is no Rota store below %q: check the prefix, or start a member first: %w", s.keys.prefix, store.ErrNotFound)
	}
	return s.create(ctx)
}

// lookAround reads the format, and whether there is any key below the prefix.
func (s *Store) lookAround(ctx context.Context) (format, below *clientv3.GetResponse, err error) {
	r, err := ask(ctx, s, func(ctx context.Context) (*clientv3.TxnResponse, error) {
		return s.client.Txn(ctx).Then(
			clientv3.OpGet(s.keys.format()),
			clientv3.OpGet(s.keys.prefix, clientv3.WithPrefix(), clientv3.WithLimit(1), clientv3.WithKeysOnly()),
		).Commit()
	})
	if err != nil {
		return nil, nil, err
	}
	return rangeOf(r, 0), rangeOf(r, 1), nil
}

// rangeOf is the answer to a get within a transaction.
func rangeOf(r *clientv3.TxnResponse, i int) *clientv3.GetResponse {
	return (*clientv3.GetResponse)(r.Responses[i].GetResponseRange())
}

// checkFormat returns whether there is a store, and an error if this version cannot read it.
func checkFormat(r *clientv3.GetResponse) (exists bool, err error) {
	if len(r.Kvs) == 0 {
		return false, nil
	}
	text := string(r.Kvs[0].Value)
	name, number, _ := strings.Cut(text, " ")
	n, err := strconv.Atoi(number)
	switch {
	case name != formatName || err != nil:
		return false, fmt.Errorf("the key %q says %.40q: this is not a Rota store: give another prefix", r.Kvs[0].Key, text)
	case n > formatNumber:
		return false, fmt.Errorf("the store has format %d, this program knows formats up to %d: use a newer version of Rota", n, formatNumber)
	}
	return true, nil
}

// create makes a store, unless another handle does at the same time.
func (s *Store) create(ctx context.Context) error {
	key := s.keys.format()
	_, err := change(ctx, s, func(ctx context.Context) (*clientv3.TxnResponse, error) {
		return s.client.Txn(ctx).
			If(clientv3.Compare(clientv3.CreateRevision(key), "=", 0)).
			Then(clientv3.OpPut(key, fmt.Sprintf("%s %d", formatName, formatNumber))).Commit()
	})
	if errors.Is(err, store.ErrUnknown) { // it is the same, whoever made it
		format, _, readErr := s.lookAround(ctx)
		if readErr == nil && len(format.Kvs) > 0 {
			return nil
		}
		return driver.NotDone(err)
	}
	return err
}
