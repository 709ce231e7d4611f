package etcd

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"

	"github.com/rota-run/rota/internal/wait"
)

// A call that may be repeated is retried, usually on another server, if it fails for a temporary reason.
const (
	attempts   = 5
	firstPause = 25 * time.Millisecond // doubled each time
)

// silence is how long a call waits for any sign of life on its connection.
const silence = 3 * time.Second

// posted is in the context of a call, and reports whether its request may have left.
type posted struct {
	lines *lines

	mu    sync.Mutex
	sent  bool
	timer *time.Timer // closes the connection if it stays silent
}

type postedKey struct{}

func (p *posted) set(local string) {
	at := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sent = true
	if p.timer != nil {
		p.timer.Stop() // gRPC sends again what a server has refused to look at
	}
	p.timer = time.AfterFunc(silence, func() { p.lines.giveUp(local, at) })
}

// end reports whether the request may have left. The timer goes on where the caller gave up before there was an answer:
// calls with short deadlines would else never find out that a connection is silent.
func (p *posted) end(gaveUp bool) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.timer != nil && !gaveUp {
		p.timer.Stop()
	}
	return p.sent
}

// sendObserver notes for each call when gRPC gives its first frame to a connection. Before that nobody can have
// executed it.
type sendObserver struct{}

func (sendObserver) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }

func (sendObserver) HandleRPC(ctx context.Context, event stats.RPCStats) {
	header, ok := event.(*stats.OutHeader)
	if !ok {
		return
	}
	if p, ok := ctx.Value(postedKey{}).(*posted); ok {
		p.set(header.LocalAddr.String())
	}
}

func (sendObserver) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

func (sendObserver) HandleConn(context.Context, stats.ConnStats) {}

// send makes a call once; sent reports whether anybody may have executed it. Where it meets a silent connection, that
// is closed, and so the call ends.
func send[R any](ctx context.Context, c *conn, call func(context.Context) (R, error)) (r R, sent bool, err error) {
	p := &posted{lines: c.lines}
	r, err = call(clientv3.WithRequireLeader(context.WithValue(ctx, postedKey{}, p)))
	return r, p.end(err != nil && ctx.Err() != nil), err
}

// change makes a call that changes something. It is made again only where nobody can have executed it: it was never
// sent, or was refused for a reason that may pass. It does not wait longer than the handle's timeout for an answer.
func change[R any](ctx context.Context, c *conn, call func(context.Context) (R, error)) (R, error) {
	for attempt := 0; ; attempt++ {
		r, sent, err := sendOnce(ctx, c, call)
		if err == nil {
			return r, nil
		}
		again := !sent || renewable(err) || is(err, rpctypes.ErrNoLeader)
		if !again || attempt+1 == attempts || !pause(ctx, firstPause<<attempt) {
			return r, writeError(ctx, err, sent)
		}
	}
}

// ask makes a call that changes nothing, as often as is sensible. None of its attempts waits longer than the handle's
// timeout for an answer.
func ask[R any](ctx context.Context, c *conn, call func(context.Context) (R, error)) (R, error) {
	for attempt := 0; ; attempt++ {
		r, _, err := sendOnce(ctx, c, call)
		if err == nil {
			return r, nil
		}
		if attempt+1 == attempts || !passing(err) || !pause(ctx, firstPause<<attempt) {
			return r, readError(ctx, err)
		}
	}
}

// sendOnce is send with the handle's timeout.
func sendOnce[R any](ctx context.Context, c *conn, call func(context.Context) (R, error)) (r R, sent bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	return send(ctx, c, call)
}

// passing reports whether the same call may succeed soon.
func passing(err error) bool {
	var answer rpctypes.EtcdError
	switch {
	case renewable(err), is(err, rpctypes.ErrTooManyRequests):
		return true
	case errors.As(rpctypes.Error(err), &answer):
		return answer.Code() == codes.Unavailable
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled): // of the attempt
		return true
	}
	switch status.Code(err) {
	case codes.Unavailable, codes.DeadlineExceeded, codes.Canceled:
		return true
	}
	return false
}

// pause waits about so long; false if ctx has ended.
func pause(ctx context.Context, about time.Duration) bool {
	return wait.For(ctx, about/2+rand.N(about))
}

// lines are the connections of a handle, by the address of this side. A call that waits too long closes its own if
// nothing at all came over it: a member that is frozen keeps its connections, and gRPC notices that after 13 s at best.
type lines struct {
	log *slog.Logger

	mu  sync.Mutex
	all map[string]*line
}

// line is one connection, which remembers when it was last heard of.
type line struct {
	net.Conn
	of   *lines
	born time.Time
	last atomic.Int64 // nanoseconds after born
}

// dial makes a connection.
func (ls *lines) dial(ctx context.Context, address string) (net.Conn, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	l := &line{Conn: c, of: ls, born: time.Now()}
	ls.mu.Lock()
	defer ls.mu.Unlock()
	ls.all[c.LocalAddr().String()] = l
	return l, nil
}

// Read implements net.Conn.
func (l *line) Read(b []byte) (int, error) {
	n, err := l.Conn.Read(b)
	if n > 0 {
		l.last.Store(int64(time.Since(l.born)))
	}
	return n, err
}

// Close implements net.Conn.
func (l *line) Close() error {
	l.of.mu.Lock()
	if key := l.LocalAddr().String(); l.of.all[key] == l {
		delete(l.of.all, key)
	}
	l.of.mu.Unlock()
	return l.Conn.Close()
}

// giveUp closes the connection of a call if nothing was received on it since the call was sent. Other calls on it would
// wait without success too.
func (ls *lines) giveUp(local string, since time.Time) {
	ls.mu.Lock()
	l := ls.all[local]
	ls.mu.Unlock()
	if l == nil || l.born.Add(time.Duration(l.last.Load())).After(since) {
		return
	}
	ls.log.Warn("an etcd server is silent: its connection is closed", "server", l.RemoteAddr().String(), "for", silence)
	_ = l.Close() // gRPC hears of it, and connects again
}
