package bare

import (
	"context"
	"fmt"
	"sync/atomic"

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
