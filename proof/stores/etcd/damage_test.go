package etcd_test

import (
	"context"
	"errors"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/etcd"
)

// TestDamage changes what is stored, one thing at a time.
func TestDamage(t *testing.T) {
	t.Parallel()
	remove := func(key func(raw) string) func(context.Context, raw) error {
		return func(ctx context.Context, r raw) error { _, err := r.Delete(ctx, key(r)); return err }
	}
	overwrite := func(key func(raw) string, value string) func(context.Context, raw) error {
		return func(ctx context.Context, r raw) error { _, err := r.Put(ctx, key(r), value); return err }
	}
	readAfter := func(after uint64) func(context.Context, *etcd.Store) error {
		return func(ctx context.Context, s *etcd.Store) error { _, err := s.Read(ctx, after, 10); return err }
	}
	readSnapshot := func(ctx context.Context, s *etcd.Store) error { _, err := s.Snapshot(ctx); return err }
	for name, c := range map[string]struct {
		harm func(context.Context, raw) error
		call func(context.Context, *etcd.Store) error
	}{
		"record is missing":        {remove(func(r raw) string { return r.record(2) }), readAfter(1)},
		"newest record is missing": {remove(func(r raw) string { return r.record(3) }), readAfter(2)},
		"head is nonsense": {
			overwrite(raw.head, "x"),
			func(ctx context.Context, s *etcd.Store) error { _, err := s.Append(ctx, nil); return err },
		},
		"chunk is missing": {
			func(ctx context.Context, r raw) error {
				_, err := r.Delete(ctx, r.chunks(), clientv3.WithPrefix())
				return err
			},
			readSnapshot,
		},
		"chunk is another": {
			func(ctx context.Context, r raw) error {
				got, err := r.Get(ctx, r.chunks(), clientv3.WithPrefix())
				if err == nil {
					_, err = r.Put(ctx, string(got.Kvs[0].Key), "x")
				}
				return err
			},
			readSnapshot,
		},
		"snapshot is nonsense": {
			overwrite(raw.snapshot, "{"),
			func(ctx context.Context, s *etcd.Store) error { return s.Trim(ctx, 1) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := options()
			s := openWith(t, o)
			ctx := rig.Deadline(t)
			for range 3 {
				if _, err := s.Append(ctx, record); err != nil {
					t.Fatal(err)
				}
			}
			if err := errors.Join(s.SaveSnapshot(ctx, snapshotOf(1, 5)), c.harm(ctx, rawOf(t, o))); err != nil {
				t.Fatal(err)
			}
			if err := c.call(ctx, s); !errors.Is(err, etcd.ErrDamaged) || errors.Is(err, store.ErrUnknown) {
				t.Errorf("error %v, want ErrDamaged", err)
			}
		})
	}
}
