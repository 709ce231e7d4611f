package elastic_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store/driver/drivertest"
	"github.com/rota-run/rota/store/elastic"
	"github.com/rota-run/rota/store/engine"
)

// newest tells changes of the row of the tests apart.
func newest(t *testing.T, o elastic.Options) func() any {
	return func() any {
		status, text := rest(t, o.Servers, "GET", "/"+o.Index+"/_doc/%2Fk?_source=false", "")
		return fmt.Sprint(status, " ", string(text))
	}
}

// TestDriver: the driver keeps the promises of package driver, over real servers.
func TestDriver(t *testing.T) {
	each(t, func(t *testing.T, s *shared) {
		s.Server(t) // it may take longer to start than a test may take
		hurry := func(o *elastic.Options) { o.Timeout = 2 * time.Second }
		drivertest.Documents(t, drivertest.Setup{
			Open: rig.Drivers(s.place(), elastic.OpenDriver, func(d engine.Driver) drivertest.Documenter { return d }),
			Through: func(t *testing.T) (witness, through drivertest.Documenter, l drivertest.Link) {
				return rig.ThroughLink(t, s.place(), elastic.OpenDriver, hurry, newest)
			},
		})
	})
}
