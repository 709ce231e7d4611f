package rig

import (
	"sync"
	"testing"

	"github.com/rota-run/rota/proof/faultproxy"
	"github.com/rota-run/rota/store/driver/drivertest"
)

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
