package etcd_test

import (
	"testing"

	"github.com/rota-run/rota/proof/faultproxy"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store/etcd"
)

// linkedStore is a store that one handle reaches over a link, and another directly.
type linkedStore struct {
	link      *faultproxy.Proxy
	s, direct *etcd.Store
	raw       raw
}

// linked opens a store on the server of o.
func linked(t *testing.T, o etcd.Options) linkedStore {
	t.Helper()
	e := linkedStore{link: rig.Link(t, o.Endpoints[0]), direct: openWith(t, o), raw: rawOf(t, o)}
	e.s = openWith(t, through(o, e.link.Addr()))
	return e
}
