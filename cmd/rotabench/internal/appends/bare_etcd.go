package appends

import (
	"context"
	"fmt"
	"sync/atomic"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

type bareEtcd struct {
	client *clientv3.Client
	last   atomic.Uint64
}

func openEtcd(hosts []string) (*bareEtcd, error) {
	c, err := clientv3.New(clientv3.Config{Endpoints: hosts, Logger: zap.NewNop()})
	if err != nil {
		return nil, err
	}
	return &bareEtcd{client: c}, nil
}

func (b *bareEtcd) put(data []byte) (string, clientv3.Op) {
	key := fmt.Sprintf("bare/%020d", b.last.Add(1))
	return key, clientv3.OpPut(key, string(data))
}

func (b *bareEtcd) write(ctx context.Context, data []byte) error {
	_, op := b.put(data)
	_, err := b.client.Txn(ctx).Then(op).Commit()
	return err
}

func (b *bareEtcd) batch(ctx context.Context, data []byte, n int) error {
	ops := make([]clientv3.Op, n)
	for i := range ops {
		_, ops[i] = b.put(data)
	}
	_, err := b.client.Txn(ctx).Then(ops...).Commit()
	return err
}

func (b *bareEtcd) applied(ctx context.Context, data []byte) error {
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

func (b *bareEtcd) close() error { return b.client.Close() }
