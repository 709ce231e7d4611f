package rig

import (
	"context"
	"testing"

	"github.com/rota-run/rota/proof/faultproxy"
)

// Link returns a link to a server, host:port. Open it before the handle that uses it: the handle is then closed first,
// perhaps over a broken link.
func Link(t testing.TB, server string) *faultproxy.Proxy {
	t.Helper()
	p := link(t, server)
	t.Cleanup(func() { p.Close() })
	return p
}

// link is a Link that the caller closes.
func link(t testing.TB, server string) *faultproxy.Proxy {
	t.Helper()
	p, err := faultproxy.Listen(context.Background(), server)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Links returns a link to each server, and their addresses.
func Links(t testing.TB, servers []string) (links []*faultproxy.Proxy, addrs []string) {
	t.Helper()
	for _, s := range servers {
		p := Link(t, s)
		links, addrs = append(links, p), append(addrs, p.Addr())
	}
	return links, addrs
}

// Heal ends all faults of a link.
func Heal(t testing.TB, p *faultproxy.Proxy) {
	t.Helper()
	if err := p.Heal(); err != nil {
		t.Errorf("heal the link: %v", err)
	}
}
