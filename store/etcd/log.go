package etcd

import (
	"context"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-run/rota/store"
)

// A request names a number of records, not of bytes. So the first read of a handle asks for few, and each later one for as many as should have
// about pageBytes, judged by the one before.
const (
	firstPage = 128
	mostPage  = 4096
	pageBytes = 4 << 20
)

// Read implements store.Log. All that it returns is of one instant.
func (s *Store) Read(ctx context.Context, after uint64, limit int) (store.Page, error) {
	page, err := s.readLog(ctx, after, limit)
	if err != nil {
		return store.Page{}, s.wrap(err, "read log after %d", after)
	}
	return page, nil
}

func (s *Store) readLog(ctx context.Context, after uint64, limit int) (store.Page, error) {
	if limit < 1 {
		return store.Page{}, fmt.Errorf("limit is %d: give at least 1", limit)
	}
	ctx, leave, err := s.enter(ctx)
	if err != nil {
		return store.Page{}, err
	}
	defer leave()
	ops := []clientv3.Op{clientv3.OpGet(s.keys.head()), clientv3.OpGet(s.keys.trimmed())}
	if after+1 != 0 {
		most := min(int64(limit), s.page.Load())
		ops = append(ops, clientv3.OpGet(s.keys.record(after+1), clientv3.WithRange(s.keys.recordsEnd()), clientv3.WithLimit(most)))
	}
	r, err := s.view(ctx, ops...)
	if err != nil {
		return store.Page{}, err
	}
	return s.pageOf(r, after)
}

// view makes several reads of one instant.
func (s *Store) view(ctx context.Context, ops ...clientv3.Op) (*clientv3.TxnResponse, error) {
	return ask(ctx, s.timeout, func(ctx context.Context) (*clientv3.TxnResponse, error) {
		return s.client.Txn(ctx).Then(ops...).Commit()
	})
}

func (s *Store) pageOf(r *clientv3.TxnResponse, after uint64) (store.Page, error) {
	head, err := number(rangeOf(r, 0).Kvs)
	if err != nil {
		return store.Page{}, err
	}
	trimmed, err := number(rangeOf(r, 1).Kvs)
	if err != nil {
		return store.Page{}, err
	}
	if after < trimmed {
		return store.Page{}, fmt.Errorf("trimmed up to %d: %w", trimmed, store.ErrTruncated)
	}
	page := store.Page{Head: head}
	if after >= head || len(r.Responses) < 3 {
		return page, nil
	}
	page.Records, err = s.records(rangeOf(r, 2), after)
	return page, err
}

// records checks that nothing is missing.
func (s *Store) records(r *clientv3.GetResponse, after uint64) ([]store.Record, error) {
	records := make([]store.Record, len(r.Kvs))
	size := 0
	for i, kv := range r.Kvs {
		index, err := s.keys.recordIndex(kv.Key)
		if err != nil {
			return nil, err
		}
		if want := after + 1 + uint64(i); index != want {
			return nil, fmt.Errorf("%w: record %d is missing", ErrDamaged, want)
		}
		records[i] = store.Record{Index: index, Data: kv.Value}
		size += len(kv.Value)
	}
	if len(records) == 0 {
		return nil, fmt.Errorf("%w: record %d is missing", ErrDamaged, after+1)
	}
	s.page.Store(min(max(int64(len(records))*pageBytes/int64(size+1), 4), mostPage))
	return records, nil
}
