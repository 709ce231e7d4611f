package replica_test

import (
	"errors"
	"testing"

	etcdserver "github.com/rota-run/rota/proof/server/etcd"
	zkserver "github.com/rota-run/rota/proof/server/zookeeper"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store/etcd"
	"github.com/rota-run/rota/store/zookeeper"
)

func onJoinEtcd(b *testing.B) (protocol.Store, func() float64) {
	dir := b.TempDir()
	server, err := etcdserver.Start(b.Context(), etcdserver.Options{Dir: dir})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(server.Stop)
	s, err := etcd.Open(b.Context(), etcd.Options{Endpoints: server.Endpoints()})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	return s, func() float64 { return sizeOf(b, dir) }
}

func onJoinZooKeeper(b *testing.B) (protocol.Store, func() float64) {
	dir := b.TempDir()
	c, err := zkserver.Start(b.Context(), zkserver.Options{Dir: dir})
	var missing *zkserver.MissingError
	if errors.As(err, &missing) {
		b.Skipf("NOT MEASURED: %v", err)
	}
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(c.Stop)
	s, err := zookeeper.Open(b.Context(), zookeeper.Options{Servers: c.Servers()})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	return s, func() float64 { return sizeOf(b, dir) }
}
