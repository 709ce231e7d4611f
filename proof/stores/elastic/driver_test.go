package elastic_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/proof/faultproxy"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store/driver/drivertest"
	"github.com/rota-run/rota/store/elastic"
	"github.com/rota-run/rota/store/engine"
)

func openDriver(t testing.TB, o elastic.Options) engine.Driver {
	t.Helper()
	d, err := elastic.OpenDriver(rig.Deadline(t), o)
	must.Succeed(t, err)
	t.Cleanup(func() { _ = d.Close() })
	return d
}

// link is a link between one handle and the server.
type link struct {
	t     *testing.T
	proxy *faultproxy.Proxy
	o     elastic.Options // past the proxy
	fault drivertest.Fault
	over  sync.WaitGroup
}

// Next implements drivertest.Link. A request that is held is lost or late by what Arrive does with it.
func (l *link) Next(f drivertest.Fault, meanwhile func()) {
	l.fault = f
	if f != drivertest.LostReply {
		l.proxy.StallRequests()
		meanwhile()
		return
	}
	before := l.newest()
	l.proxy.DropReplies()
	l.over.Go(func() {
		rig.Eventually(l.t, "the server has executed it", func() bool { return l.newest() != before })
		meanwhile()
		l.proxy.Reset()
	})
}

// newest tells changes of the row of the tests apart.
func (l *link) newest() string {
	status, text := rest(l.t, l.o.Servers, "GET", "/"+l.o.Index+"/_doc/%2Fk?_source=false", "")
	return fmt.Sprint(status, " ", string(text))
}

// Arrive implements drivertest.Link.
func (l *link) Arrive() {
	l.over.Wait()
	if l.fault == drivertest.LostRequest {
		l.proxy.Reset()
	}
	rig.Heal(l.t, l.proxy)
}

// TestDriver: the driver keeps the promises of package driver, over real servers.
func TestDriver(t *testing.T) {
	each(t, func(t *testing.T, s *shared) {
		s.servers(t) // it may take longer to start than a test may take
		drivertest.Documents(t, drivertest.Setup{
			Open: func(t *testing.T) func() drivertest.Documenter {
				o := s.options(t)
				return func() drivertest.Documenter { return openDriver(t, o) }
			},
			Through: func(t *testing.T) (witness, through drivertest.Documenter, l drivertest.Link) {
				o := s.options(t)
				proxy := rig.Link(t, o.Servers[0])
				behind := o
				behind.Servers, behind.Timeout = []string{proxy.Addr()}, 2*time.Second
				return openDriver(t, o), openDriver(t, behind), &link{t: t, proxy: proxy, o: o}
			},
		})
	})
}
