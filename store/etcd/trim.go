package etcd

import (
	"context"
	"strconv"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// trimStep is how many records one transaction removes at most: the server serves nobody else while it does.
const trimStep = 2000

// Trim implements store.Log. The server gives the space free when it compacts its history; see the package's comment.
func (s *Store) Trim(ctx context.Context, index uint64) error {
	return s.wrap(s.trim(ctx, index), "trim log to %d", index)
}

func (s *Store) trim(ctx context.Context, index uint64) error {
	ctx, leave, err := s.enterChange(ctx)
	if err != nil {
		return err
	}
	defer leave()
	for {
		more, err := s.trimOnce(ctx, index)
		if err != nil || !more {
			return err
		}
	}
}

// trimOnce removes some records, unless somebody else did meanwhile; more: look again.
func (s *Store) trimOnce(ctx context.Context, index uint64) (more bool, err error) {
	v, err := s.view(ctx, clientv3.OpGet(s.keys.trimmed()), clientv3.OpGet(s.keys.snapshot()))
	if err != nil {
		return false, err
	}
	kvs := rangeOf(v, 0).Kvs
	trimmed, err := number(kvs)
	if err != nil {
		return false, err
	}
	p, _, err := pointerAt(rangeOf(v, 1).Kvs)
	if err != nil || min(index, p.Index) <= trimmed {
		return false, err
	}
	to, seen := min(index, p.Index, trimmed+trimStep), int64(0)
	if len(kvs) > 0 {
		seen = kvs[0].ModRevision
	}
	_, err = change(ctx, func(ctx context.Context) (*clientv3.TxnResponse, error) {
		return s.client.Txn(ctx).If(at(s.keys.trimmed(), seen)).Then(
			clientv3.OpPut(s.keys.trimmed(), strconv.FormatUint(to, 10)),
			clientv3.OpDelete(s.keys.record(trimmed+1), clientv3.WithRange(s.keys.record(to+1))),
		).Commit()
	})
	return err == nil, err
}
