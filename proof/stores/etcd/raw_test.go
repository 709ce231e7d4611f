package etcd_test

import (
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"go.uber.org/zap"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store/etcd"
)

// What package etcd documents about itself.
const (
	chunkBytes = 1 << 20 // of a snapshot

)

// bare returns a client with nothing around it.
func bare(t testing.TB, endpoints []string) *clientv3.Client {
	t.Helper()
	c := must.Get(clientv3.New(clientv3.Config{Endpoints: endpoints, Logger: zap.NewNop()}))(t)
	t.Cleanup(func() { c.Close() })
	return c
}

// raw is a bare client that names the keys of a store, as the documentation of package etcd lays them out.
type raw struct {
	*clientv3.Client
	prefix string // with "/" at its end
}

func rawOf(t testing.TB, o etcd.Options) raw {
	t.Helper()
	return raw{bare(t, o.Endpoints), o.Prefix + "/"}
}

func (r raw) docs() string { return r.prefix + "d/" }

func (r raw) records() string { return r.prefix + "l/main/p/" }

// count returns the number of keys below a prefix.
func (r raw) count(t testing.TB, prefix string) int64 {
	t.Helper()
	got := must.Get(r.Get(rig.Deadline(t), prefix, clientv3.WithPrefix(), clientv3.WithCountOnly()))(t)
	return got.Count
}

// revision returns the revision of the whole server. It grows by one with each transaction that changes something.
func (r raw) revision(t testing.TB) int64 {
	t.Helper()
	got := must.Get(r.Get(rig.Deadline(t), r.prefix, clientv3.WithCountOnly()))(t)
	return got.Header.Revision
}
