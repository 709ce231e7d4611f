package etcd

import (
	"context"
	"errors"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-run/rota/store"
)

// A request limits records, not bytes. So the first read of a handle requests few, and each later one as many as should have
// about pageBytes, judging by the previous one.
const (
	firstPage = 128
	mostPage  = 4096
	pageBytes = 4 << 20
)

// Read implements store.Log. All its results are from one instant.
func (s *Store) Read(ctx context.Context, after uint64, limit int) (_ store.Page, err error) {
	defer s.place.Wrap(&err, "read log after %d", after)
	if limit < 1 {
		return store.Page{}, fmt.Errorf("limit is %d: give at least 1", limit)
	}
	ctx, leave, err := s.enter(ctx)
	if err != nil {
		return store.Page{}, err
	}
	defer leave()
	ops := []clientv3.Op{clientv3.OpGet(s.keys.head()), clientv3.OpGet(s.keys.snapshot()), clientv3.OpGet(s.keys.began())}
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
	return ask(ctx, s, func(ctx context.Context) (*clientv3.TxnResponse, error) {
		return s.client.Txn(ctx).Then(ops...).Commit()
	})
}

func (s *Store) pageOf(r *clientv3.TxnResponse, after uint64) (store.Page, error) {
	head, err := number(rangeOf(r, 0).Kvs)
	if err != nil {
		return store.Page{}, err
	}
	page := store.Page{Head: head}
	if after >= head || len(r.Responses) < 4 {
		return page, nil
	}
	page.Records, err = s.records(rangeOf(r, 3), after)
	if !errors.Is(err, errGap) {
		return page, err
	}
	// Records are trimmed from the oldest on, and never beyond the snapshot: what is missing up to there was trimmed.
	p, _, err := pointerAt(rangeOf(r, 1).Kvs)
	if err != nil {
		return store.Page{}, err
	}
	began, err := number(rangeOf(r, 2).Kvs)
	switch {
	case err != nil:
		return store.Page{}, err
	case after < max(began, p.Index):
		return store.Page{}, fmt.Errorf("record %d was trimmed: %w", after+1, store.ErrTruncated)
	}
	return store.Page{}, fmt.Errorf("%w: %w: the snapshot is of %d", ErrDamaged, errGap, p.Index)
}

// errGap says that a record is not where it should be.
var errGap = errors.New("a record is missing")

// records checks that nothing is missing between the first and the last.
func (s *Store) records(r *clientv3.GetResponse, after uint64) ([]store.Record, error) {
	if len(r.Kvs) == 0 {
		return nil, fmt.Errorf("%w: %d", errGap, after+1)
	}
	records := make([]store.Record, len(r.Kvs))
	size := 0
	for i, kv := range r.Kvs {
		index, err := s.keys.recordIndex(kv.Key)
		if err != nil {
			return nil, err
		}
		switch want := after + 1 + uint64(i); {
		case index != want && i == 0:
			return nil, fmt.Errorf("%w: %d", errGap, want)
		case index != want:
			return nil, fmt.Errorf("%w: record %d is missing between others", ErrDamaged, want)
		}
		records[i] = store.Record{Index: index, Data: kv.Value}
		size += len(kv.Value)
	}
	s.page.Store(min(max(int64(len(records))*pageBytes/int64(size+1), 4), mostPage))
	return records, nil
}
