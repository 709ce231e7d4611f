package bare

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

type etcd struct {
	client *clientv3.Client
	last   atomic.Uint64
}

func openEtcd(hosts []string) (*etcd, error) {
	c, err := clientv3.New(clientv3.Config{Endpoints: hosts, Logger: zap.NewNop()})
	if err != nil {
		return nil, err
	}
	return &etcd{client: c}, nil
}

func (b *etcd) put(data []byte) (string, clientv3.Op) {
	key := fmt.Sprintf("bare/%020d", b.last.Add(1))
	return key, clientv3.OpPut(key, string(data))
}

func (b *etcd) Write(ctx context.Context, data []byte) error {
	_, op := b.put(data)
	_, err := b.client.Txn(ctx).Then(op).Commit()
	return err
}

func (b *etcd) Batch(ctx context.Context, data []byte, n int) error {
	ops := make([]clientv3.Op, n)
	for i := range ops {
		_, ops[i] = b.put(data)
	}
	_, err := b.client.Txn(ctx).Then(ops...).Commit()
	return err
}

func (b *etcd) Applied(ctx context.Context, data []byte) error {
	key, op := b.put(data)
	if _, err := b.client.Txn(ctx).Then(op).Commit(); err != nil {
		return err
	}
	r, err := b.client.Get(ctx, key)
	if err == nil && len(r.Kvs) != 1 {
		err = fmt.Errorf("%s is not there", key)
	}
	return err
}

func (b *etcd) Close() error { return b.client.Close() }

type zooKeeper struct {
	conn *zk.Conn
	last atomic.Uint64
}

type silent struct{}

func (silent) Printf(string, ...any) {}

func openZooKeeper(ctx context.Context, hosts []string) (*zooKeeper, error) {
	conn, events, err := zk.Connect(hosts, 10*time.Second, zk.WithLogger(silent{}))
	if err != nil {
		return nil, err
	}
	for {
		select {
		case e := <-events:
			if e.State != zk.StateHasSession {
				continue
			}
			if _, err := conn.Create("/bare", nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll)); err != nil {
				conn.Close()
				return nil, err
			}
			return &zooKeeper{conn: conn}, nil
		case <-ctx.Done():
			conn.Close()
			return nil, context.Cause(ctx)
		}
	}
}

func (b *zooKeeper) path() string { return fmt.Sprintf("/bare/%020d", b.last.Add(1)) }

// The library knows no ctx.

func (b *zooKeeper) Write(_ context.Context, data []byte) error {
	_, err := b.conn.Create(b.path(), data, zk.FlagPersistent, zk.WorldACL(zk.PermAll))
	return err
}

func (b *zooKeeper) Batch(_ context.Context, data []byte, n int) error {
	ops := make([]any, n)
	for i := range ops {
		ops[i] = &zk.CreateRequest{Path: b.path(), Data: data, Acl: zk.WorldACL(zk.PermAll)}
	}
	_, err := b.conn.Multi(ops...)
	return err
}

func (b *zooKeeper) Applied(_ context.Context, data []byte) error {
	path := b.path()
	if _, err := b.conn.Create(path, data, zk.FlagPersistent, zk.WorldACL(zk.PermAll)); err != nil {
		return err
	}
	_, _, err := b.conn.Get(path)
	return err
}

func (b *zooKeeper) Close() error {
	b.conn.Close()
	return nil
}
