package elastic_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
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

// newest tells changes of the row of the tests apart.
func newest(t *testing.T, o elastic.Options) any {
	status, text := rest(t, o.Servers, "GET", "/"+o.Index+"/_doc/%2Fk?_source=false", "")
	return fmt.Sprint(status, " ", string(text))
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
				return openDriver(t, o), openDriver(t, behind), rig.DriverLink(t, proxy, func() any { return newest(t, o) })
			},
		})
	})
}
