package etcd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/internal/driver"
)

// lease is a lease of the server and the stream that renews it. The client's own KeepAliveOnce retries without a pause if no server
// answers, and logs in again each time.
type lease struct {
	id  clientv3.LeaseID
	ttl time.Duration // as granted
	s   *Store

	turn      chan struct{} // has room for one: a goroutine that has put something in may use what follows
	stream    pb.Lease_LeaseKeepAliveClient
	streaming context.Context    // of the stream
	cancel    context.CancelFunc // ends the stream
}

// grant asks for a lease of at least ttl; asked is when the request was made.
func (s *Store) grant(ctx context.Context, ttl time.Duration) (l *lease, asked time.Time, err error) {
	seconds := int64((ttl + time.Second - 1) / time.Second)
	asked = time.Now()
	r, err := change(ctx, s, func(ctx context.Context) (*clientv3.LeaseGrantResponse, error) { return s.client.Grant(ctx, seconds) })
	if err != nil {
		return nil, asked, driver.NotDone(err) // a lease that nobody knows holds nothing and runs out
	}
	if r.TTL < seconds {
		return nil, asked, fmt.Errorf("asked for a lease of %d s, the server granted %d s", seconds, r.TTL)
	}
	return &lease{id: r.ID, ttl: time.Duration(r.TTL) * time.Second, s: s, turn: make(chan struct{}, 1)}, asked, nil
}

// patience is how long one attempt to renew waits for an answer, before another member is asked.
func (l *lease) patience() time.Duration { return max(l.ttl/8, 200*time.Millisecond) }

// renew renews the lease; asked is when the request that was answered was made. ErrSession: there is no such lease any more. After any other error
// it may have been renewed or not.
func (l *lease) renew(ctx context.Context) (asked time.Time, err error) {
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
		l.streaming, l.cancel = context.WithCancel(clientv3.WithRequireLeader(l.s.ctx))
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
		stream, err := pb.NewLeaseClient(l.s.client.ActiveConnection()).LeaseKeepAlive(l.streaming)
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

// close ends the stream for good.
func (l *lease) close() {
	l.turn <- struct{}{}
	l.drop()
	<-l.turn
}
