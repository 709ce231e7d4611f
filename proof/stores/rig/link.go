package rig

import (
	"context"
	"sync"
	"testing"

	"github.com/rota-run/rota/proof/faultproxy"
	"github.com/rota-run/rota/store/driver/drivertest"
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

// driverLink is a link between one driver and its server.
type driverLink struct {
	t      *testing.T
	proxy  *faultproxy.Proxy
	newest func() any
	fault  drivertest.Fault
	over   sync.WaitGroup
}

// DriverLink makes a link for the suite of drivers. The value of newest is another one, compared by ==, after the
// server has executed a change; it must not ask through the proxy.
func DriverLink(t *testing.T, proxy *faultproxy.Proxy, newest func() any) drivertest.Link {
	return &driverLink{t: t, proxy: proxy, newest: newest}
}

// Next implements drivertest.Link. A request that is held is lost or late by what Arrive does with it.
func (l *driverLink) Next(f drivertest.Fault, meanwhile func()) {
	l.fault = f
	if f != drivertest.LostReply {
		l.proxy.StallRequests()
		meanwhile()
		return
	}
	before := l.newest()
	l.proxy.DropReplies()
	l.over.Go(func() {
		Eventually(l.t, "the server has executed it", func() bool { return l.newest() != before })
		meanwhile()
		l.proxy.Reset()
	})
}

// Arrive implements drivertest.Link.
func (l *driverLink) Arrive() {
	l.over.Wait()
	if l.fault == drivertest.LostRequest {
		l.proxy.Reset()
	}
	Heal(l.t, l.proxy)
}
