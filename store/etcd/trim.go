package etcd

import (
	"context"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// trimMost is how many records one request removes at most: the server serves nobody else meanwhile.
const trimMost = 2000

// Trim implements store.Log. It writes nothing, so it also works on a full server. The server frees the space when it compacts
// its history; see the package comment.
func (s *Store) Trim(ctx context.Context, index uint64) error {
	return s.place.Failed(s.trim(ctx, index), "trim log to %d", index)
}

func (s *Store) trim(ctx context.Context, index uint64) error {
	ctx, leave, err := s.enterChange(ctx)
	if err != nil {
		return err
	}
	defer leave()
	r, err := s.read(ctx, s.keys.snapshot())
	if err != nil {
		return err
	}
	p, _, err := pointerAt(r.Kvs) // it only ever grows
	if err != nil {
		return err
	}
	index = min(index, p.Index)
	for more := index > 0; more && err == nil; {
		more, err = s.trimOnce(ctx, index)
	}
	return err
}

// trimOnce removes the oldest records up to index, as many as one request may; more: there may be others.
func (s *Store) trimOnce(ctx context.Context, index uint64) (more bool, err error) {
	r, err := s.read(ctx, s.keys.record(0), clientv3.WithRange(s.keys.record(index+1)), clientv3.WithLimit(1), clientv3.WithKeysOnly())
	if err != nil || len(r.Kvs) == 0 {
		return false, err
	}
	oldest, err := s.keys.recordIndex(r.Kvs[0].Key)
	if err != nil {
		return false, err
	}
	to := min(index, oldest+trimMost-1)
	_, err = change(ctx, s, func(ctx context.Context) (*clientv3.DeleteResponse, error) {
		return s.client.Delete(ctx, s.keys.record(oldest), clientv3.WithRange(s.keys.record(to+1)))
	})
	return to < index, err
}
