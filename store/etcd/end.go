package etcd

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-run/rota/store"
)

var (
	_ store.SessionEnder   = (*Store)(nil)
	_ store.EndableSession = (*session)(nil)
)

// EndKey implements store.EndableSession: the id of the lease. The server gives none twice.
func (n *session) EndKey(...string) store.EndKey {
	return store.EndKey{Text: strconv.FormatInt(int64(n.lease.id), 16)}
}

// EndSession implements store.SessionEnder: it revokes the lease. From then on the server refuses what the owner has sent before.
func (s *Store) EndSession(ctx context.Context, key string) error {
	id, err := strconv.ParseInt(key, 16, 64)
	if err != nil || id == 0 {
		return errors.New("end session: the key is not that of a session of etcd")
	}
	ctx, leave, err := s.enterChange(ctx)
	if err != nil {
		return s.place.Failed(err, "end session")
	}
	defer leave()
	_, err = change(ctx, s, func(ctx context.Context) (*clientv3.LeaseRevokeResponse, error) {
		return s.client.Revoke(ctx, clientv3.LeaseID(id))
	})
	if err == nil || errors.Is(err, store.ErrSession) {
		return nil
	}
	return fmt.Errorf("end session: %w", s.place.Failed(err, "revoke lease"))
}
