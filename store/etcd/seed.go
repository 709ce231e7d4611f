package etcd

import (
	"context"
	"fmt"
	"strconv"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-run/rota/store"
)

// SeedLog implements store.Seeder: one transaction.
func (s *Store) SeedLog(ctx context.Context, index uint64) error {
	return s.place.Failed(s.seed(ctx, index), "seed log at %d", index)
}

func (s *Store) seed(ctx context.Context, index uint64) error {
	if err := store.CheckSeed(index); err != nil {
		return err
	}
	ctx, leave, err := s.enterChange(ctx)
	if err != nil {
		return err
	}
	defer leave()
	head, began, snapshot, text := s.keys.head(), s.keys.began(), s.keys.snapshot(), strconv.FormatUint(index, 10)
	r, err := change(ctx, s, func(ctx context.Context) (*clientv3.TxnResponse, error) {
		return s.client.Txn(ctx).If(at(head, 0), at(snapshot, 0)).Then(clientv3.OpPut(head, text), clientv3.OpPut(began, text)).
			Else(clientv3.OpGet(head), clientv3.OpGet(began), clientv3.OpGet(snapshot)).Commit()
	})
	if err != nil || r.Succeeded {
		return err
	}
	is, err := number(rangeOf(r, 0).Kvs)
	if err != nil {
		return err
	}
	seeded, err := number(rangeOf(r, 1).Kvs)
	if err != nil {
		return err
	}
	if is == index && seeded == index && len(rangeOf(r, 2).Kvs) == 0 {
		return nil
	}
	return fmt.Errorf("the log ends at %d: %w", is, store.ErrConflict)
}
