package etcd_test

import (
	"errors"
	"testing"

	server "github.com/rota-run/rota/proof/server/etcd"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/etcd"
)

// writeOnce makes a document in a cluster that may change its leader.
func writeOnce(t *testing.T, s *etcd.Store, key string) (v store.Version) {
	t.Helper()
	rig.Eventually(t, "a leader takes the write", func() bool {
		var err error
		if v, err = s.Put(rig.Deadline(t), store.Doc{Key: key, Value: []byte("x")}); err == nil {
			return true
		}
		if !errors.Is(err, store.ErrConflict) { // our own write, whose answer was lost
			return false
		}
		d, err := s.Get(rig.Deadline(t), key)
		v = d.Version
		return err == nil
	})
	return v
}

// TestSilentNode connects over links to three nodes, one of which falls silent without closing anything: the handle notices and asks the others,
// while the link is still broken.
func TestSilentNode(t *testing.T) {
	t.Parallel()
	c := startCluster(t, server.Options{Nodes: 3})
	links, addrs := rig.Links(t, c.Endpoints())
	s := openWith(t, etcd.Options{Endpoints: addrs})
	v := writeOnce(t, s, "a")
	links[0].Stall()
	rig.Answers(t, s, "a", v)
}
