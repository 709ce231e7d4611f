package etcd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/driver"
	inner "github.com/rota-run/rota/store/internal/driver"
)

// lease is a lease of the server and the stream that renews it. The client's own KeepAliveOnce retries without a pause
// if no server answers, and logs in again each time.
type lease struct {
	id    clientv3.LeaseID
	ttl   time.Duration // as granted
	began time.Time     // when it was asked for
	c     *conn

	turn      chan struct{} // has room for one: a goroutine that has put something in may use what follows
	stream    pb.Lease_LeaseKeepAliveClient
	streaming context.Context    // of the stream
	cancel    context.CancelFunc // ends the stream
}

var (
	_ driver.Leaser = (*conn)(nil)
	_ driver.Lease  = (*lease)(nil)
)

// Lease implements driver.Leaser. The ttl is rounded up to whole seconds, and the server may make it longer.
func (c *conn) Lease(ctx context.Context, ttl time.Duration) (driver.Lease, error) {
	ctx, done, err := c.life.Enter(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	seconds := int64((ttl + time.Second - 1) / time.Second)
	asked := time.Now()
	r, err := change(ctx, c, func(ctx context.Context) (*clientv3.LeaseGrantResponse, error) {
		return c.client.Grant(ctx, seconds)
	})
	if err != nil {
		return nil, inner.NotDone(err) // a lease that nobody knows holds nothing and runs out
	}
	if r.TTL < seconds {
		return nil, fmt.Errorf("asked for a lease of %d s, the server granted %d s", seconds, r.TTL)
	}
	return &lease{id: r.ID, ttl: time.Duration(r.TTL) * time.Second, began: asked, c: c, turn: make(chan struct{}, 1)},
		nil
}

// EndLease implements driver.Leaser. From then on the server refuses what the owner has sent before.
func (c *conn) EndLease(ctx context.Context, key string) error {
	id, err := strconv.ParseInt(key, 16, 64)
	if err != nil || id == 0 {
		return errors.New("the key is not that of a session of etcd")
	}
	return (&lease{id: clientv3.LeaseID(id), c: c}).End(ctx)
}

// TTL implements driver.Lease.
func (l *lease) TTL() time.Duration { return l.ttl }

// Began implements driver.Lease.
func (l *lease) Began() time.Time { return l.began }

// Key implements driver.Lease. The server gives no id twice.
func (l *lease) Key() string { return strconv.FormatInt(int64(l.id), 16) }

// Swap implements driver.Lease.
func (l *lease) Swap(ctx context.Context, op driver.Op) (driver.Version, error) {
	return l.c.swap(ctx, l.id, op)
}

// End implements driver.Lease.
func (l *lease) End(ctx context.Context) error {
	ctx, done, err := l.c.life.Enter(ctx)
	if err != nil {
		return err
	}
	defer done()
	_, err = change(ctx, l.c, func(ctx context.Context) (*clientv3.LeaseRevokeResponse, error) {
		return l.c.client.Revoke(ctx, l.id)
	})
	if errors.Is(err, store.ErrSession) {
		return nil
	}
	return err
}

// patience is how long one attempt to renew waits for an answer, before another member is asked.
func (l *lease) patience() time.Duration { return max(l.ttl/8, 200*time.Millisecond) }

// Renew implements driver.Lease.
func (l *lease) Renew(ctx context.Context) (asked time.Time, err error) {
	ctx, done, err := l.c.life.Enter(ctx)
	if err != nil {
		return asked, err
	}
	defer done()
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-ctx.Done():
		return asked, context.Cause(ctx)
	}
	for attempt := 0; ; attempt++ {
		asked = time.Now()
		err := l.exchange(ctx)
		if err == nil || errors.Is(err, store.ErrSession) {
			return asked, err
		}
		l.drop()
		if attempt+1 == attempts || !passing(err) || !pause(ctx, firstPause<<attempt) {
			return asked, readError(ctx, err)
		}
	}
}

// exchange sends one request and reads its answer. The caller has the turn.
func (l *lease) exchange(ctx context.Context) error {
	ctx, done := context.WithTimeout(ctx, l.patience())
	defer done()
	fresh := l.stream == nil
	if fresh {
		l.streaming, l.cancel = context.WithCancel(clientv3.WithRequireLeader(l.c.life.Ctx))
	}
	stop := context.AfterFunc(ctx, l.cancel)
	err := l.talk(fresh)
	if !stop() { // the stream has just been ended
		l.drop()
	}
	return err
}

func (l *lease) talk(fresh bool) error {
	if fresh {
		stream, err := pb.NewLeaseClient(l.c.client.ActiveConnection()).LeaseKeepAlive(l.streaming)
		if err != nil {
			return err
		}
		l.stream = stream
	}
	if err := l.stream.Send(&pb.LeaseKeepAliveRequest{ID: int64(l.id)}); err != nil {
		return l.streamError(err)
	}
	r, err := l.stream.Recv()
	switch {
	case err != nil:
		return err
	case r.TTL <= 0:
		return fmt.Errorf("%w: the server does not know the lease any more", store.ErrSession)
	}
	return nil
}

// streamError is why a stream ended, of which Send says only that it did.
func (l *lease) streamError(err error) error {
	if errors.Is(err, io.EOF) {
		_, err = l.stream.Recv()
	}
	return err
}

// drop ends the stream; the next request opens another, through another member as a rule. The caller has the turn.
func (l *lease) drop() {
	if l.cancel != nil {
		l.cancel()
	}
	l.stream, l.cancel = nil, nil
}

// Close implements driver.Lease. It ends the stream for good.
func (l *lease) Close() {
	l.turn <- struct{}{}
	l.drop()
	<-l.turn
}
